#ifndef FOREBAY_SERVER_STREAM_BATCH_SCHEDULER_H_
#define FOREBAY_SERVER_STREAM_BATCH_SCHEDULER_H_

#include <cstdint>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "server/stream/batch.h"
#include "server/stream/batch_cache.h"
#include "server/stream/batch_policy.h"
#include "server/stream/in_flight_batches.h"
#include "server/stream/member.h"
#include "server/stream/member_set.h"
#include "server/stream/sharing_mode.h"
#include "server/stream/staging_pool.h"

namespace forebay::stream {

// Carries out the policies of batch_policy.h on a stream's members: begins the
// batch that they choose in a free slot, evicts a cached batch for it, or asks
// for one more slot.
//
// Not thread-safe: the stream guards it and its collaborators, which outlive
// it. Never blocks; no errors.
class BatchScheduler {
 public:
  BatchScheduler(SharingMode sharing_mode, MemberSet* members,
                 BatchCache* batch_cache, StagingPool* staging,
                 InFlightBatches* in_flight, bool is_live)
      : sharing_mode_(sharing_mode),
        is_live_(is_live),
        members_(members),
        batch_cache_(batch_cache),
        staging_(staging),
        in_flight_(in_flight) {}

  // Begins the batches that members request, as long as there are slots.
  // Returns true if one more slot is to be made meanwhile.
  bool Begin(std::int64_t now_nanos);

  // Where a member is to start that asks for this place: of a live dataset,
  // where the others are.
  BatchKey StartFor(const BatchKey& asked);
  // Lets members of a live dataset pass over batches that are gone.
  void PassOver();

  // The position in the epoch up to which the member's samples were requested.
  std::uint64_t AskedFor(const Member& member) const;
  // Tells what a member shares with the others. Changes nothing.
  Sharing SharingOf(const Member& member, std::int64_t now_nanos) const;

 private:
  // Inline, because this is made after each sample, and mostly for one member.
  using BatchRequests = absl::InlinedVector<BatchRequest, 2>;

  // The first batch that a member needs and that is neither cached nor in
  // flight, and what it has ahead of that.
  struct Missing {
    BatchKey key;
    std::uint32_t ahead = 0;    // batches before it
    std::uint32_t moving = 0;   // of these, in flight and moving
    std::uint32_t hanging = 0;  // of these, in flight and hanging in reads
  };
  // Returns nullopt if the member needs none soon, or no epoch is under way.
  std::optional<Missing> FindMissing(const Member& member,
                                     std::int64_t now_nanos) const;
  // Whether the batch can be made no more, and there is none.
  bool IsGone(const BatchKey& key) const;
  BatchRequest RequestFor(Member& member, const Missing& missing,
                          std::int64_t now_nanos) const;
  // The requests of all members, whose depths learn how many batches are ready.
  BatchRequests TakeRequests(std::int64_t now_nanos);
  std::optional<std::uint32_t> SlotFor(const BatchRequest& request,
                                       std::int64_t now_nanos, bool* grows);
  // The cached batch to evict first. Returns null if none can be evicted.
  const CompletedBatch* Victim(std::int64_t now_nanos) const;
  // Whether a member comes to the batch, and is worth a slot more.
  bool WantsMoreFor(const CompletedBatch& batch, std::int64_t now_nanos) const;
  // Whether to make one more slot: none is being made, and there is memory.
  bool Grows();
  bool EvictsFor(const CompletedBatch& victim, const BatchRequest& request,
                 std::int64_t now_nanos) const;
  void BeginIn(std::uint32_t slot, const BatchRequest& request,
               std::int64_t now_nanos);

  const SharingMode sharing_mode_;
  const bool is_live_;
  // Of a live dataset, behind the last batch that was begun: ever, and since
  // members run.
  BatchKey frontier_;
  BatchKey gone_;
  MemberSet* const members_;
  BatchCache* const batch_cache_;
  StagingPool* const staging_;
  InFlightBatches* const in_flight_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_SCHEDULER_H_

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

namespace forebay::stream {

// Decides what is made next: which batch, for which member, and in which slot.
// The policy (batch_policy.h) chooses the request. Its batch gets a free slot,
// or that of a kept batch, which is evicted, or one more slot is to be made.
//
// Not thread-safe: the stream guards it and its collaborators, which outlive
// it. Never blocks; no errors.
class BatchScheduler {
 public:
  BatchScheduler(SharingMode sharing_mode, MemberSet* members,
                 BatchCache* batch_cache, InFlightBatches* in_flight)
      : sharing_mode_(sharing_mode),
        members_(members),
        batch_cache_(batch_cache),
        in_flight_(in_flight) {}

  // Begins the batches that members request, as long as there are slots.
  // Returns true if one more slot is to be made meanwhile.
  bool Begin(std::int64_t now_nanos);

  // The first batch that the member needs soon, and that is neither kept nor in
  // flight. Returns nullopt if there is none, or no epoch is under way.
  std::optional<BatchRequest> RequestOf(Member& member,
                                        std::int64_t now_nanos) const;

  // Whether the batch is kept or in flight.
  bool IsThere(const BatchKey& key) const {
    return batch_cache_->Find(key) != nullptr ||
           in_flight_->Find(key) != nullptr;
  }

 private:
  // Inline, because this is made after each sample, and mostly for one member.
  using BatchRequests = absl::InlinedVector<BatchRequest, 2>;

  BatchRequests AllRequests(std::int64_t now_nanos) const;
  std::optional<std::uint32_t> SlotFor(const BatchRequest& request,
                                       std::int64_t now_nanos, bool* grows);
  // The kept batch to evict first. Returns null if none can be evicted.
  const CompletedBatch* Victim(std::int64_t now_nanos) const;
  // Whether to make one more slot: none is being made, and there is memory.
  bool Grows();
  // Whether the request waits rather than evict the victim, which a member will
  // still read.
  bool MustStay(const CompletedBatch& victim, const BatchRequest& request,
                std::int64_t now_nanos) const;
  void BeginIn(std::uint32_t slot, const BatchRequest& request,
               std::int64_t now_nanos);

  const SharingMode sharing_mode_;
  MemberSet* const members_;
  BatchCache* const batch_cache_;
  InFlightBatches* const in_flight_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_SCHEDULER_H_

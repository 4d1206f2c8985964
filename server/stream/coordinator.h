#ifndef FOREBAY_SERVER_STREAM_COORDINATOR_H_
#define FOREBAY_SERVER_STREAM_COORDINATOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "server/base/index_list.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/sampler/coordinated_order.h"
#include "server/sampler/draws.h"

namespace forebay::stream {

// Picks the samples of all loaders that read one dataset in a coordinated
// order, and make the same variant of its images: who of them decodes an image
// keeps its variant for the others, who then want it soon.
//
// How many variants are there at a time is found out: there are as many as fit
// into the cache's memory at most, and fewer where some are found missing.
//
// Thread-safe. Shared by the loaders' streams; a member keeps it alive.
// Never blocks. Errors: those of OrderMember::Start.
class Coordinator : public std::enable_shared_from_this<Coordinator> {
 public:
  // One loader's, until it is destroyed. Takes BytesOfMember.
  class OrderMember final : public sampler::Draws {
   public:
    ~OrderMember() override;
    OrderMember(const OrderMember&) = delete;
    OrderMember& operator=(const OrderMember&) = delete;

    // Begins an epoch at `position`: so many samples were seen before, which
    // `seen` has, each once (null: none). INVALID_ARGUMENT: it has others.
    absl::Status Start(std::uint64_t position, const base::IndexList* seen);

    std::uint64_t At(std::uint64_t position) override;
    // Of a sample in the making, where it stands.
    std::optional<std::uint64_t> PositionOf(
        std::uint64_t sample) const override;

    // Whether another loader lacks the sample in its epoch.
    bool IsAwaited(std::uint64_t sample) const;

    // What became of a sample: its image was made from its variant; it was
    // decoded, and its variant, so long, is kept; or it was decoded and is not
    // kept. Where it is kept, others may have to make room: their variants are
    // to be dropped, since nobody is sent to them any more.
    void Found(std::uint64_t sample);
    std::vector<std::uint64_t> Kept(std::uint64_t sample, std::uint64_t bytes);
    void Missed(std::uint64_t sample);

   private:
    friend class Coordinator;
    OrderMember(std::shared_ptr<Coordinator> coordinator,
                base::MemoryReservation held);

    // It makes the sample, if it did, no longer.
    void EndLocked(std::uint64_t sample)
        ABSL_EXCLUSIVE_LOCKS_REQUIRED(coordinator_->mutex_);
    void EndAllLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(coordinator_->mutex_);

    const std::shared_ptr<Coordinator> coordinator_;
    const base::MemoryReservation held_;
    const sampler::CoordinatedOrder::Member member_;
    // Where the epoch was started, and what was drawn from there on.
    std::uint64_t begin_ ABSL_GUARDED_BY(coordinator_->mutex_) = 0;
    std::vector<std::uint64_t> drawn_ ABSL_GUARDED_BY(coordinator_->mutex_);
    // Positions of those in the making.
    absl::flat_hash_map<std::uint64_t, std::uint64_t> in_flight_
        ABSL_GUARDED_BY(coordinator_->mutex_);
  };

  // `size` samples, at least one. Forms of their images may take `room` bytes.
  // The budget outlives it; where that has no room, fewer variants are there.
  Coordinator(std::uint64_t size, std::uint64_t room, std::uint64_t seed,
              base::MemoryBudget* budget);

  // Bytes of memory that a member takes for an order of so many samples.
  static std::uint64_t BytesOfMember(std::uint64_t size);

  // `held` is the member's: of BytesOfMember.
  std::shared_ptr<OrderMember> Join(base::MemoryReservation held);

 private:
  // The variants that are taken to be there proved to be more, or fewer.
  void AdaptLocked(double factor) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether there is memory to know one variant more of.
  bool MakeRoomLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::uint64_t room_;
  base::MemoryBudget* const budget_;
  mutable base::Mutex mutex_;
  sampler::CoordinatedOrder order_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t members_ ABSL_GUARDED_BY(mutex_) = 0;
  // For what is known of variants.
  base::MemoryReservation known_ ABSL_GUARDED_BY(mutex_);
  double variant_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // on average; 0: unknown
  // The part of the room that proved to be there.
  double part_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_COORDINATOR_H_

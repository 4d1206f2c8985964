#ifndef FOREBAY_SERVER_STREAM_COORDINATOR_H_
#define FOREBAY_SERVER_STREAM_COORDINATOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "server/base/index_list.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/sampler/coordinated_order.h"
#include "server/sampler/draws.h"
#include "server/sampler/sample_set.h"

namespace forebay::stream {

// Picks the samples of all loaders that read one dataset in a coordinated order
// and use the same variant of its images. A loader that decodes an image leaves
// its variant in the cache for the others, which then want it soon.
//
// The coordinator estimates how many variants the cache holds: at most as many
// as fit into its memory, and fewer when loaders find some missing.
//
// Thread-safe. Shared by the loaders' streams; a member keeps it alive. Never
// blocks. Errors: those of OrderMember::Check.
class Coordinator : public std::enable_shared_from_this<Coordinator> {
 public:
  // A loader's membership in the order, until it is destroyed. Takes
  // BytesOfMember of memory.
  class OrderMember final : public sampler::Draws {
   public:
    ~OrderMember() override;
    OrderMember(const OrderMember&) = delete;
    OrderMember& operator=(const OrderMember&) = delete;

    // Returns the samples that `seen` lists (null for none) as a set.
    // INVALID_ARGUMENT: they are not `position` distinct samples.
    absl::StatusOr<sampler::SampleSet> Check(std::uint64_t position,
                                             const base::IndexList* seen) const;
    // Begins an epoch at `position`, with what Check returned for it.
    void Start(std::uint64_t position, sampler::SampleSet seen);

    std::uint64_t At(std::uint64_t position) override;
    // The position of a sample in flight, or when the sample may come next.
    std::optional<std::uint64_t> PositionOf(
        std::uint64_t sample) const override;

    // Whether another loader lacks the sample in its epoch.
    bool IsAwaited(std::uint64_t sample) const;

    // One of these ends each sample in flight. Found: its image was made from
    // the cached variant. Kept: it was decoded, and its variant of `bytes` is
    // cached; returns the samples whose variants to drop from the cache.
    // Missed: it was decoded, and its variant is not cached.
    void Found(std::uint64_t sample);
    std::vector<std::uint64_t> Kept(std::uint64_t sample, std::uint64_t bytes);
    void Missed(std::uint64_t sample);

   private:
    friend class Coordinator;
    OrderMember(std::shared_ptr<Coordinator> coordinator,
                base::MemoryReservation held);

    // Ends the sample's flight, if it is in flight.
    void EndLocked(std::uint64_t sample)
        ABSL_EXCLUSIVE_LOCKS_REQUIRED(coordinator_->mutex_);
    void EndAllLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(coordinator_->mutex_);

    const std::shared_ptr<Coordinator> coordinator_;
    const base::MemoryReservation held_;
    const sampler::CoordinatedOrder::Member member_;
    // Where the epoch was started, and the samples drawn from there on.
    std::uint64_t begin_ ABSL_GUARDED_BY(coordinator_->mutex_) = 0;
    std::vector<std::uint64_t> drawn_ ABSL_GUARDED_BY(coordinator_->mutex_);
    // The positions of samples in flight.
    absl::flat_hash_map<std::uint64_t, std::uint64_t> in_flight_
        ABSL_GUARDED_BY(coordinator_->mutex_);
  };

  // `size` samples, at least one. Variants of their images take at most `room`
  // bytes. The budget outlives it; where it lacks memory for accounts, fewer
  // variants count as cached.
  Coordinator(std::uint64_t size, std::uint64_t room, std::uint64_t seed,
              base::MemoryBudget* budget);

  // The bytes of memory that a member of an order of so many samples takes.
  static std::uint64_t BytesOfMember(std::uint64_t size);

  // `held` is a reservation of BytesOfMember.
  std::shared_ptr<OrderMember> Join(base::MemoryReservation held);

 private:
  // Corrects the estimate of cached variants by a factor.
  void AdaptLocked(double factor) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether there is memory to keep account of one more variant.
  bool MakeRoomLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::uint64_t size_;
  const std::uint64_t room_;
  base::MemoryBudget* const budget_;
  mutable base::Mutex mutex_;
  sampler::CoordinatedOrder order_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t members_ ABSL_GUARDED_BY(mutex_) = 0;
  // For the accounts of variants.
  base::MemoryReservation known_ ABSL_GUARDED_BY(mutex_);
  double variant_bytes_ ABSL_GUARDED_BY(mutex_) =
      0;  // on average; 0 while unknown
  // The part of `room_` that is taken to be there.
  double part_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_COORDINATOR_H_

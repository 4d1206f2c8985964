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
#include "server/sampler/sample_draws.h"
#include "server/sampler/sample_set.h"

namespace forebay::stream {

// Picks the samples of all loaders that read one dataset in a coordinated order
// and use the same variant of its images. A loader that decodes an image leaves
// the image's variant in the cache. The other loaders then get that sample
// soon, and find the variant.
//
// The coordinator estimates how many variants the cache holds: at most as many
// as fit into its memory, and fewer when loaders find some missing.
//
// Thread-safe. Shared by the loaders' streams; a member keeps it alive. Never
// blocks. Errors: those of OrderMember::Check.
class Coordinator : public std::enable_shared_from_this<Coordinator> {
 public:
  // A loader's membership in the order, which ends with this object. The object
  // takes BytesOfMember() bytes.
  class OrderMember final : public sampler::SampleDraws {
   public:
    ~OrderMember() override;
    OrderMember(const OrderMember&) = delete;
    OrderMember& operator=(const OrderMember&) = delete;

    // Returns the samples that `seen_samples` lists, as a set; null lists none.
    // INVALID_ARGUMENT: the list does not have `position` distinct samples.
    absl::StatusOr<sampler::SampleSet> Check(
        std::uint64_t position, const base::IndexList* seen_samples) const;
    // Begins an epoch at `position`, with the set that Check returned.
    void Start(std::uint64_t position, sampler::SampleSet seen_samples);

    std::uint64_t At(std::uint64_t position) override;
    // Returns the position of a sample that is in flight. For another sample,
    // estimates the position at which it may come next (SampleDraws).
    std::optional<std::uint64_t> PositionOf(
        std::uint64_t sample) const override;

    // Whether another loader has still to see the sample in its epoch.
    bool IsAwaited(std::uint64_t sample) const;

    // For each sample in flight, exactly one of the next three functions is
    // called; it ends the flight. Found: the image was made from the cached
    // variant. Kept: the image was decoded, and its variant of `bytes` bytes is
    // now cached. Kept returns the samples whose variants the caller drops from
    // the cache. Missed: the image was decoded, and its variant is not cached.
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
    // Ends the flights of all samples of the member.
    void EndAllLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(coordinator_->mutex_);

    const std::shared_ptr<Coordinator> coordinator_;
    const base::MemoryReservation held_;
    const sampler::CoordinatedOrder::Member member_;
    // The position at which the epoch was started.
    std::uint64_t begin_ ABSL_GUARDED_BY(coordinator_->mutex_) = 0;
    // The samples drawn so far, from position `begin_` on.
    std::vector<std::uint64_t> drawn_ ABSL_GUARDED_BY(coordinator_->mutex_);
    // The position of each sample in flight.
    absl::flat_hash_map<std::uint64_t, std::uint64_t> in_flight_
        ABSL_GUARDED_BY(coordinator_->mutex_);
  };

  // `size` is the number of samples, at least 1. `room` is the number of bytes
  // that the variants of their images may take in the cache. The budget must
  // outlive the coordinator. If the budget lacks memory for the coordinator's
  // tables, fewer variants count as cached.
  Coordinator(std::uint64_t size, std::uint64_t room, std::uint64_t seed,
              base::MemoryBudget* budget);

  // Returns the number of bytes of memory that a member of an order of `size`
  // samples takes.
  static std::uint64_t BytesOfMember(std::uint64_t size);

  // Adds a member. `held` is a reservation of BytesOfMember() bytes.
  std::shared_ptr<OrderMember> Join(base::MemoryReservation held);

 private:
  // Multiplies the estimate of cached variants by a factor.
  void AdaptLocked(double factor) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Reserves memory for the table entry of one more variant. Returns false if
  // the budget has none.
  bool MakeRoomLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::uint64_t size_;
  const std::uint64_t room_;
  base::MemoryBudget* const budget_;
  mutable base::Mutex mutex_;
  sampler::CoordinatedOrder order_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t members_ ABSL_GUARDED_BY(mutex_) = 0;
  // The reservation of the tables of cached variants.
  base::MemoryReservation tables_reservation_ ABSL_GUARDED_BY(mutex_);
  // The average bytes of a variant; 0 while unknown.
  double variant_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // The fraction of `room_` that the cache is assumed to have for the variants.
  double part_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_COORDINATOR_H_

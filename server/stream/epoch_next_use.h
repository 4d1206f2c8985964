#ifndef FOREBAY_SERVER_STREAM_EPOCH_NEXT_USE_H_
#define FOREBAY_SERVER_STREAM_EPOCH_NEXT_USE_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/cache/loader_next_use.h"
#include "server/stream/epoch_pair.h"

namespace forebay::stream {

// Tells when a member wants each sample of the dataset next: in the rest of its
// epoch, or in the next epoch, which the member is assumed to run. A sample
// that is in neither is never wanted.
//
// A member that has stood still longer than its pace explains is assumed to
// stand still for as long again. A paused member wants nothing.
//
// Thread-safe. Shared by the member, which moves it, and the registry. Blocks
// only for its own lock. No errors.
class EpochNextUse final : public cache::LoaderNextUse {
 public:
  // Creates the next uses of a paused member. `dataset_size` is in samples.
  explicit EpochNextUse(std::uint64_t dataset_size)
      : dataset_size_(dataset_size) {}

  // Tells that the member reads the current epoch from `position` on.
  void Start(std::shared_ptr<const EpochPair> epochs, std::uint64_t position,
             std::int64_t now_nanos);
  // Tells that all samples before `position` were requested. A lower position
  // than before does not move the member back. `period_nanos` is the time
  // between two samples, or INT64_MAX while unknown. At the end of the epoch,
  // the next one is assumed to come.
  void Advance(std::uint64_t position, std::int64_t period_nanos,
               std::int64_t now_nanos);
  // Tells that the member wants nothing until Start.
  void Pause();

  void Lower(std::int64_t now_nanos, absl::Span<const std::uint64_t> samples,
             absl::Span<std::int64_t> nanos) const override;

 private:
  struct Progress {
    // The epochs; null while paused.
    std::shared_ptr<const EpochPair> epochs;
    std::uint64_t position = 0;
    // The number of samples by which the last Advance moved.
    std::uint64_t step = 0;
    std::int64_t period_nanos = 0;
    std::int64_t moved_at_nanos = 0;
  };

  // Returns the nanoseconds until the sample is wanted by a member that is not
  // late.
  std::int64_t NanosUntil(const Progress& progress, std::uint64_t sample) const;

  const std::uint64_t dataset_size_;
  mutable base::Mutex mutex_;
  Progress progress_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_EPOCH_NEXT_USE_H_

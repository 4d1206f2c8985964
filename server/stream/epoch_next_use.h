#ifndef FOREBAY_SERVER_STREAM_EPOCH_NEXT_USE_H_
#define FOREBAY_SERVER_STREAM_EPOCH_NEXT_USE_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/cache/loader_next_use.h"
#include "server/stream/epoch_pair.h"

namespace forebay::stream {

// Tells when a member wants each sample of the dataset next, from its position
// on: later in this epoch, or in the next one, which it is assumed to run. A
// sample that is in neither is never wanted.
//
// A member that has stood still longer than its pace explains is assumed to do
// so for as long again. A paused member wants nothing.
//
// Thread-safe. Shared by the member, which moves it, and the registry. Never
// blocks; no errors.
class EpochNextUse final : public cache::LoaderNextUse {
 public:
  // Paused at first. `dataset_size` is in samples.
  explicit EpochNextUse(std::uint64_t dataset_size)
      : dataset_size_(dataset_size) {}

  // The member reads the current epoch from `position` on.
  void Start(std::shared_ptr<const EpochPair> epochs, std::uint64_t position,
             std::int64_t now_nanos);
  // Says that all samples before `position` were requested; positions never
  // fall. A sample takes `period_nanos`, or INT64_MAX while unknown. At the end
  // of the epoch, the next one is assumed to come.
  void Advance(std::uint64_t position, std::int64_t period_nanos,
               std::int64_t now_nanos);
  void Pause();

  void Lower(std::int64_t now_nanos, absl::Span<const std::uint64_t> samples,
             absl::Span<std::int64_t> nanos) const override;

 private:
  struct Progress {
    std::shared_ptr<const EpochPair> epochs;  // null while paused
    std::uint64_t position = 0;
    std::uint64_t step = 0;  // samples that the last call advanced
    std::int64_t period_nanos = 0;
    std::int64_t moved_at_nanos = 0;
  };

  std::int64_t NanosUntil(const Progress& progress, std::uint64_t sample) const;

  const std::uint64_t dataset_size_;
  mutable base::Mutex mutex_;
  Progress progress_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_EPOCH_NEXT_USE_H_

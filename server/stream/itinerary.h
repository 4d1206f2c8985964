#ifndef FOREBAY_SERVER_STREAM_ITINERARY_H_
#define FOREBAY_SERVER_STREAM_ITINERARY_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/cache/forecast.h"
#include "server/stream/course.h"

namespace forebay::stream {

// When a member's batches want each sample of the dataset next, from where it
// is in its order: later in this epoch, or in the epoch after, which it is
// taken to run. A sample that stands in neither is never wanted: it is farther
// away than any that does.
//
// A member that stands still longer than its pace explains is taken to go on
// doing so for as long again. One that is paused wants nothing.
//
// Thread-safe. Shared by the member, which moves it, and the timetable. Never
// blocks; no errors.
class Itinerary final : public cache::Forecast {
 public:
  // Paused at first. `dataset_size` is in samples.
  explicit Itinerary(std::uint64_t dataset_size)
      : dataset_size_(dataset_size) {}

  // Reads the course's epoch from `position` on.
  void Start(std::shared_ptr<const Course> course, std::uint64_t position,
             std::int64_t now_nanos);
  // All before `position` has been asked for (never less than was before); a
  // sample takes `period_nanos`, or INT64_MAX if that cannot be told yet. Where
  // the epoch is done, the next is taken to come.
  void Advance(std::uint64_t position, std::int64_t period_nanos,
               std::int64_t now_nanos);
  void Pause();

  void Lower(std::int64_t now_nanos, absl::Span<const std::uint64_t> samples,
             absl::Span<std::int64_t> nanos) const override;

 private:
  struct Progress {
    std::shared_ptr<const Course> course;  // null: paused
    std::uint64_t position = 0;
    std::uint64_t step = 0;  // samples that the last move went
    std::int64_t period_nanos = 0;
    std::int64_t moved_at_nanos = 0;
  };

  std::int64_t NanosUntil(const Progress& progress, std::uint64_t sample) const;

  const std::uint64_t dataset_size_;
  mutable base::Mutex mutex_;
  Progress progress_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_ITINERARY_H_

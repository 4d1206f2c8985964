#ifndef FOREBAY_SERVER_STREAM_ITINERARY_H_
#define FOREBAY_SERVER_STREAM_ITINERARY_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "server/base/index_list.h"
#include "server/base/mutex.h"
#include "server/cache/forecast.h"
#include "server/sampler/sampler.h"

namespace forebay::stream {

// When a stream reads each sample of its dataset next, from where it is in its
// sampler's order: later in this epoch, or in the epoch after, which it is
// taken to run. A sample that stands in neither is never wanted: it is farther
// away than any that does.
//
// A stream that stands still longer than its pace explains is taken to go on
// doing so for as long again. One that is paused wants nothing.
//
// Thread-safe. Shared by the stream, which moves it, and the timetable. Never
// blocks; no errors.
class Itinerary final : public cache::Forecast {
 public:
  // Paused at first.
  explicit Itinerary(const sampler::Sampler& sampler) : sampler_(sampler) {}

  // Reads `epoch` from `position` on. `list`: as Sampler::Epoch's.
  void Start(std::uint64_t epoch, std::uint64_t position,
             std::int64_t now_nanos,
             std::shared_ptr<const base::IndexList> list = nullptr);
  // All before `position` has been asked for (never less than was before); a
  // sample takes `period_nanos`, or INT64_MAX if that cannot be told yet. Where
  // the epoch is done, the next is taken to come.
  void Advance(std::uint64_t position, std::int64_t period_nanos,
               std::int64_t now_nanos);
  void Pause();

  void Lower(std::int64_t now_nanos, absl::Span<const std::uint64_t> samples,
             absl::Span<std::int64_t> nanos) const override;

 private:
  // Two epochs' orders, whose keys are costly enough to be shared.
  struct Course {
    sampler::EpochOrder current;
    sampler::EpochOrder next;
  };
  struct Progress {
    std::shared_ptr<const Course> course;  // null: paused
    std::uint64_t position = 0;
    std::uint64_t step = 0;  // samples that the last move went
    std::int64_t period_nanos = 0;
    std::int64_t moved_at_nanos = 0;
  };

  std::int64_t NanosUntil(const Progress& progress, std::uint64_t sample) const;

  const sampler::Sampler sampler_;
  mutable base::Mutex mutex_;
  Progress progress_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_ITINERARY_H_

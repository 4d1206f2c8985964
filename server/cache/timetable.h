#ifndef FOREBAY_SERVER_CACHE_TIMETABLE_H_
#define FOREBAY_SERVER_CACHE_TIMETABLE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "server/base/mutex.h"
#include "server/cache/forecast.h"
#include "server/cache/next_use.h"

namespace forebay::cache {

// The forecasts of all loaders that are there, by dataset: a sample is wanted
// again when the first of them wants it. Of a dataset that has no loader
// nothing is wanted; a sample of no dataset is unknown.
//
// Thread-safe. Owned by the daemon, and outlives who is listed in it. Never
// blocks: no lock is held while a forecast is asked. No errors.
class Timetable final : public NextUse {
 public:
  // A loader's line in the timetable, until it is destroyed. Of no timetable
  // (null), or no dataset (0), there is none.
  class Listing {
   public:
    Listing(Timetable* timetable, std::uint64_t dataset,
            std::shared_ptr<const Forecast> forecast);
    ~Listing();
    Listing(const Listing&) = delete;
    Listing& operator=(const Listing&) = delete;

   private:
    Timetable* const timetable_;
    const std::uint64_t dataset_;
    const std::shared_ptr<const Forecast> forecast_;
  };

  void Ask(std::int64_t now_nanos, absl::Span<const storage::SampleRef> samples,
           absl::Span<std::int64_t> nanos) const override;

 private:
  using Forecasts = std::vector<std::shared_ptr<const Forecast>>;

  void Add(std::uint64_t dataset, std::shared_ptr<const Forecast> forecast);
  void Remove(std::uint64_t dataset, const Forecast* forecast);
  // Null where there are none.
  std::shared_ptr<const Forecasts> Of(std::uint64_t dataset) const;

  mutable base::Mutex mutex_;
  // Replaced, never changed: who asks holds on to what it found.
  absl::flat_hash_map<std::uint64_t, std::shared_ptr<const Forecasts>> datasets_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_TIMETABLE_H_

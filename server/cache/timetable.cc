#include "server/cache/timetable.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "server/base/check.h"

namespace forebay::cache {

Timetable::Listing::Listing(Timetable* timetable, std::uint64_t dataset,
                            std::shared_ptr<const Forecast> forecast)
    : timetable_(dataset == 0 ? nullptr : timetable),
      dataset_(dataset),
      forecast_(std::move(forecast)) {
  if (timetable_ != nullptr) timetable_->Add(dataset_, forecast_);
}

Timetable::Listing::~Listing() {
  if (timetable_ != nullptr) timetable_->Remove(dataset_, forecast_.get());
}

void Timetable::Add(std::uint64_t dataset,
                    std::shared_ptr<const Forecast> forecast) {
  base::MutexLock lock(&mutex_);
  std::shared_ptr<const Forecasts>& listed = datasets_[dataset];
  auto more = listed == nullptr ? std::make_shared<Forecasts>()
                                : std::make_shared<Forecasts>(*listed);
  more->push_back(std::move(forecast));
  listed = std::move(more);
}

void Timetable::Remove(std::uint64_t dataset, const Forecast* forecast) {
  base::MutexLock lock(&mutex_);
  const auto found = datasets_.find(dataset);
  FOREBAY_CHECK(found != datasets_.end());
  auto fewer = std::make_shared<Forecasts>(*found->second);
  const auto gone = std::find_if(
      fewer->begin(), fewer->end(),
      [forecast](const auto& listed) { return listed.get() == forecast; });
  FOREBAY_CHECK(gone != fewer->end());
  fewer->erase(gone);
  if (fewer->empty()) {
    datasets_.erase(found);
  } else {
    found->second = std::move(fewer);
  }
}

std::shared_ptr<const Timetable::Forecasts> Timetable::Of(
    std::uint64_t dataset) const {
  base::MutexLock lock(&mutex_);
  const auto found = datasets_.find(dataset);
  return found == datasets_.end() ? nullptr : found->second;
}

void Timetable::Ask(std::int64_t now_nanos,
                    absl::Span<const storage::SampleRef> samples,
                    absl::Span<std::int64_t> nanos) const {
  FOREBAY_CHECK(samples.size() == nanos.size());
  // A dataset at a time, so that a forecast is asked for many samples at once.
  std::vector<std::size_t> left(samples.size());
  std::iota(left.begin(), left.end(), 0);
  std::vector<std::uint64_t> ids;
  std::vector<std::int64_t> soonest;
  while (!left.empty()) {
    const std::uint64_t dataset = samples[left.front()].dataset;
    const auto rest = std::partition(
        left.begin(), left.end(),
        [&](std::size_t i) { return samples[i].dataset == dataset; });
    ids.clear();
    for (auto i = left.begin(); i != rest; ++i) {
      ids.push_back(samples[*i].sample);
    }
    soonest.assign(ids.size(), dataset == 0 ? kUnknown : kNever);
    if (const auto forecasts = dataset == 0 ? nullptr : Of(dataset)) {
      for (const auto& forecast : *forecasts) {
        forecast->Lower(now_nanos, ids, absl::MakeSpan(soonest));
      }
    }
    for (std::size_t i = 0; i < ids.size(); ++i) nanos[left[i]] = soonest[i];
    left.erase(left.begin(), rest);
  }
}

}  // namespace forebay::cache

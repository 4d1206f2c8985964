#include "server/stream/listings.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/types/span.h"
#include "server/cache/forecast.h"
#include "server/stream/provenance.h"

namespace forebay::stream {
namespace {

// When a stream wants the samples of one source of its dataset, which knows
// them by other numbers.
class SourceForecast final : public cache::Forecast {
 public:
  SourceForecast(std::shared_ptr<const dataset::Dataset> dataset,
                 std::size_t source, std::shared_ptr<const Itinerary> itinerary)
      : dataset_(std::move(dataset)),
        source_(source),
        itinerary_(std::move(itinerary)) {}

  void Lower(std::int64_t now_nanos, absl::Span<const std::uint64_t> samples,
             absl::Span<std::int64_t> nanos) const override {
    std::vector<std::uint64_t> ids;
    std::vector<std::int64_t> soonest;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      ids.clear();
      dataset_->FindSamples({source_, samples[i]}, &ids);
      // It takes the same short time for every sample.
      ids.resize(std::min(ids.size(), kMostRepeats));
      soonest.assign(ids.size(), nanos[i]);
      itinerary_->Lower(now_nanos, ids, absl::MakeSpan(soonest));
      for (const std::int64_t time : soonest) {
        nanos[i] = std::min(nanos[i], time);
      }
    }
  }

 private:
  static constexpr std::size_t kMostRepeats = 16;

  const std::shared_ptr<const dataset::Dataset> dataset_;
  const std::size_t source_;
  const std::shared_ptr<const Itinerary> itinerary_;
};

}  // namespace

Listings::Listings(cache::Timetable* timetable,
                   const std::shared_ptr<const dataset::Dataset>& dataset,
                   const std::shared_ptr<const Itinerary>& itinerary) {
  const Provenance provenance(dataset.get());
  for (std::size_t source = 0; source < provenance.sources(); ++source) {
    std::shared_ptr<const cache::Forecast> forecast = itinerary;
    if (!provenance.is_own()) {
      forecast =
          std::make_shared<const SourceForecast>(dataset, source, itinerary);
    }
    listings_.push_back(std::make_unique<cache::Timetable::Listing>(
        timetable, provenance.number(source), std::move(forecast)));
  }
}

}  // namespace forebay::stream

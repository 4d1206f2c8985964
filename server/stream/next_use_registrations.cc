#include "server/stream/next_use_registrations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/types/span.h"
#include "server/cache/loader_next_use.h"
#include "server/sample/sample_identity.h"

namespace forebay::stream {
namespace {

// The next uses of the samples of one source of a composed dataset. The
// composed dataset gives the samples other numbers than the source.
class SourceNextUse final : public cache::LoaderNextUse {
 public:
  SourceNextUse(std::shared_ptr<const dataset::Dataset> dataset,
                std::size_t source,
                std::shared_ptr<const EpochNextUse> next_use)
      : dataset_(std::move(dataset)),
        source_(source),
        next_use_(std::move(next_use)) {}

  void Lower(std::int64_t now_nanos, absl::Span<const std::uint64_t> samples,
             absl::Span<std::int64_t> nanos) const override {
    std::vector<std::uint64_t> ids;
    std::vector<std::int64_t> soonest;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      ids.clear();
      dataset_->FindSamples({source_, samples[i]}, &ids);
      // The bound keeps the time short for samples that occur often.
      ids.resize(std::min(ids.size(), kMaxRepeats));
      soonest.assign(ids.size(), nanos[i]);
      next_use_->Lower(now_nanos, ids, absl::MakeSpan(soonest));
      for (const std::int64_t time : soonest) {
        nanos[i] = std::min(nanos[i], time);
      }
    }
  }

 private:
  // The most occurrences of one source sample that are looked up.
  static constexpr std::size_t kMaxRepeats = 16;

  const std::shared_ptr<const dataset::Dataset> dataset_;
  const std::size_t source_;
  const std::shared_ptr<const EpochNextUse> next_use_;
};

}  // namespace

NextUseRegistrations::NextUseRegistrations(
    cache::NextUseRegistry* next_use_registry,
    const std::shared_ptr<const dataset::Dataset>& dataset,
    const std::shared_ptr<const EpochNextUse>& next_use) {
  const sample::SampleIdentity identity(dataset.get());
  for (std::size_t source = 0; source < identity.sources(); ++source) {
    std::shared_ptr<const cache::LoaderNextUse> loader = next_use;
    if (!identity.is_own()) {
      loader = std::make_shared<const SourceNextUse>(dataset, source, next_use);
    }
    registrations_.push_back(
        std::make_unique<cache::NextUseRegistry::Registration>(
            next_use_registry, identity.number(source), std::move(loader)));
  }
}

}  // namespace forebay::stream

#include "server/cache/next_use_registry.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "server/base/check.h"

namespace forebay::cache {

NextUseRegistry::Registration::Registration(
    NextUseRegistry* next_use_registry, std::uint64_t dataset,
    std::shared_ptr<const LoaderNextUse> loader)
    : next_use_registry_(dataset == 0 ? nullptr : next_use_registry),
      dataset_(dataset),
      loader_(std::move(loader)) {
  if (next_use_registry_ != nullptr) next_use_registry_->Add(dataset_, loader_);
}

NextUseRegistry::Registration::~Registration() {
  if (next_use_registry_ != nullptr)
    next_use_registry_->Remove(dataset_, loader_.get());
}

void NextUseRegistry::Add(std::uint64_t dataset,
                          std::shared_ptr<const LoaderNextUse> loader) {
  base::MutexLock lock(&mutex_);
  std::shared_ptr<const Loaders>& registered = datasets_[dataset];
  auto more = registered == nullptr ? std::make_shared<Loaders>()
                                    : std::make_shared<Loaders>(*registered);
  more->push_back(std::move(loader));
  registered = std::move(more);
}

void NextUseRegistry::Remove(std::uint64_t dataset,
                             const LoaderNextUse* loader) {
  base::MutexLock lock(&mutex_);
  const auto found = datasets_.find(dataset);
  FOREBAY_CHECK(found != datasets_.end());
  auto fewer = std::make_shared<Loaders>(*found->second);
  const auto gone = std::find_if(
      fewer->begin(), fewer->end(),
      [loader](const auto& registered) { return registered.get() == loader; });
  FOREBAY_CHECK(gone != fewer->end());
  fewer->erase(gone);
  if (fewer->empty()) {
    datasets_.erase(found);
  } else {
    found->second = std::move(fewer);
  }
}

std::shared_ptr<const NextUseRegistry::Loaders> NextUseRegistry::Of(
    std::uint64_t dataset) const {
  base::MutexLock lock(&mutex_);
  const auto found = datasets_.find(dataset);
  return found == datasets_.end() ? nullptr : found->second;
}

void NextUseRegistry::Ask(std::int64_t now_nanos,
                          absl::Span<const storage::SampleRef> samples,
                          absl::Span<std::int64_t> nanos) const {
  FOREBAY_CHECK(samples.size() == nanos.size());
  // Samples are handled dataset by dataset, so that each loader is asked once,
  // for all samples of its dataset.
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
    if (const auto loaders = dataset == 0 ? nullptr : Of(dataset)) {
      for (const auto& loader : *loaders) {
        loader->Lower(now_nanos, ids, absl::MakeSpan(soonest));
      }
    }
    for (std::size_t i = 0; i < ids.size(); ++i) nanos[left[i]] = soonest[i];
    left.erase(left.begin(), rest);
  }
}

}  // namespace forebay::cache

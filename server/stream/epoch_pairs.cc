#include "server/stream/epoch_pairs.h"

#include <utility>

namespace forebay::stream {

std::shared_ptr<const EpochPair> EpochPairs::Of(
    std::uint64_t epoch, std::shared_ptr<const base::IndexList> samples) {
  if (vary()) {
    pairs_ = {EpochPair::Of(*sampler_, epoch, std::move(samples))};
    return pairs_.back();
  }
  std::erase_if(pairs_, [&](const std::shared_ptr<const EpochPair>& pair) {
    return pair.use_count() == 1 && pair->epoch() != epoch;
  });
  for (const std::shared_ptr<const EpochPair>& pair : pairs_) {
    if (pair->epoch() == epoch) return pair;
  }
  pairs_.push_back(EpochPair::Of(*sampler_, epoch));
  return pairs_.back();
}

std::uint64_t EpochPairs::samples_per_epoch() const {
  if (!sampler_->is_listed()) return sampler_->samples_per_epoch();
  return pairs_.empty() ? 0 : pairs_.back()->samples();
}

}  // namespace forebay::stream

#include "server/storage/local/footprint.h"

#include <cmath>
#include <iterator>

namespace forebay::storage::local {

void Footprint::Add(std::uint64_t hash, std::uint64_t bytes) {
  if (hash >= threshold_) return;
  if (!samples_.emplace(hash, bytes).second) return;
  sampled_bytes_ += bytes;
  if (samples_.size() <= kMostSamples) return;
  const auto highest = std::prev(samples_.end());
  threshold_ = highest->first;
  sampled_bytes_ -= highest->second;
  samples_.erase(highest);
}

double Footprint::bytes() const {
  const double share = std::ldexp(static_cast<double>(threshold_), -64);
  return static_cast<double>(sampled_bytes_) / share;
}

}  // namespace forebay::storage::local

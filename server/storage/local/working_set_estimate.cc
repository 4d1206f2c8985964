#include "server/storage/local/working_set_estimate.h"

#include <cmath>
#include <iterator>

namespace forebay::storage::local {

void WorkingSetEstimate::Add(std::uint64_t hash, std::uint64_t bytes) {
  if (hash >= threshold_) return;
  if (!samples_.emplace(hash, bytes).second) return;
  sampled_bytes_ += bytes;
  if (samples_.size() <= kMaxSamples) return;
  const auto highest = std::prev(samples_.end());
  threshold_ = highest->first;
  sampled_bytes_ -= highest->second;
  samples_.erase(highest);
}

double WorkingSetEstimate::bytes() const {
  const double share = std::ldexp(static_cast<double>(threshold_), -64);
  return static_cast<double>(sampled_bytes_) / share;
}

}  // namespace forebay::storage::local

#include "server/cache/read_cost.h"

#include <algorithm>

#include "server/cache/eviction.h"

namespace forebay::cache {
namespace {

// The last gigabyte or two of reads count.
constexpr double kRemembered = 2e9;

}  // namespace

void ReadCost::AdvanceLocked(std::int64_t now_nanos) {
  if (under_way_ > 0) {
    busy_nanos_ += static_cast<double>(
        std::max<std::int64_t>(0, now_nanos - busy_since_nanos_));
  }
  busy_since_nanos_ = now_nanos;
}

void ReadCost::Began(std::int64_t now_nanos) {
  base::MutexLock lock(&mutex_);
  AdvanceLocked(now_nanos);
  ++under_way_;
}

void ReadCost::Landed(std::int64_t now_nanos, std::uint64_t bytes) {
  base::MutexLock lock(&mutex_);
  AdvanceLocked(now_nanos);
  --under_way_;
  bytes_ += static_cast<double>(bytes) + kRequestBytes;
  if (bytes_ < kRemembered) return;
  bytes_ /= 2;
  busy_nanos_ /= 2;
}

double ReadCost::NanosPerByte() const {
  base::MutexLock lock(&mutex_);
  // A read is never free: what was found on the spot took a copy at least.
  return std::max(busy_nanos_ / bytes_, 0.01);
}

}  // namespace forebay::cache

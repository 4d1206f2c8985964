#include "server/cache/read_cost.h"

#include <algorithm>

#include "server/cache/eviction.h"

namespace forebay::cache {
namespace {

// Bytes from one look to the next.
constexpr double kLook = 8e6;
constexpr double kBusyLook = 64e6;
// What was once fastest counts less by so much at each look.
constexpr double kForgotten = 1.02;
// A read is never free: what was found on the spot took a copy at least.
constexpr double kLeast = 0.02;

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

void ReadCost::Ended(std::int64_t now_nanos, std::uint64_t bytes) {
  base::MutexLock lock(&mutex_);
  AdvanceLocked(now_nanos);
  --under_way_;
  bytes_ += static_cast<double>(bytes) + kRequestBytes;
  // What is under way was waited for, too, and is not counted yet: little
  // beside so much.
  if (bytes_ < (under_way_ == 0 ? kLook : kBusyLook)) return;
  nanos_per_byte_ = std::max(
      kLeast, std::min(busy_nanos_ / bytes_, nanos_per_byte_ * kForgotten));
  bytes_ = 0;
  busy_nanos_ = 0;
}

double ReadCost::NanosPerByte() const {
  base::MutexLock lock(&mutex_);
  return nanos_per_byte_;
}

}  // namespace forebay::cache

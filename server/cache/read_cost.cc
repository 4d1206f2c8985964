#include "server/cache/read_cost.h"

#include <algorithm>

#include "server/cache/eviction.h"

namespace forebay::cache {
namespace {

// Bytes from one measurement to the next.
constexpr double kWindowBytes = 8e6;
constexpr double kBusyWindowBytes = 64e6;
// The fastest measurement grows by this factor with each further one.
constexpr double kDecay = 1.02;
// A read is never free: bytes of the page cache take a copy, at least.
constexpr double kMinNanosPerByte = 0.02;

}  // namespace

void ReadCost::AdvanceLocked(std::int64_t now_nanos) {
  if (in_flight_ > 0) {
    busy_nanos_ += static_cast<double>(
        std::max<std::int64_t>(0, now_nanos - busy_since_nanos_));
  }
  busy_since_nanos_ = now_nanos;
}

void ReadCost::Begin(std::int64_t now_nanos) {
  base::MutexLock lock(&mutex_);
  AdvanceLocked(now_nanos);
  ++in_flight_;
}

void ReadCost::End(std::int64_t now_nanos, std::uint64_t bytes) {
  base::MutexLock lock(&mutex_);
  AdvanceLocked(now_nanos);
  --in_flight_;
  bytes_ += static_cast<double>(bytes) + kRequestBytes;
  // Reads in flight took part of the time, and their bytes are not counted yet:
  // little compared with so many bytes.
  if (bytes_ < (in_flight_ == 0 ? kWindowBytes : kBusyWindowBytes)) return;
  nanos_per_byte_ =
      std::max(kMinNanosPerByte,
               std::min(busy_nanos_ / bytes_, nanos_per_byte_ * kDecay));
  bytes_ = 0;
  busy_nanos_ = 0;
}

double ReadCost::NanosPerByte() const {
  base::MutexLock lock(&mutex_);
  return nanos_per_byte_;
}

}  // namespace forebay::cache

#include "server/cache/read_cost.h"

#include <algorithm>

#include "server/cache/eviction.h"

namespace forebay::cache {
namespace {

// A measurement ends after kWindowBytes if no read is in flight then, and
// otherwise after kBusyWindowBytes. The bytes of reads in flight are missing
// from a measurement, and must be few compared with the bytes that it counts.
constexpr double kWindowBytes = 8e6;
constexpr double kBusyWindowBytes = 64e6;
// The cost grows by at most this factor with each measurement, so that slow
// measurements take some dozens to replace a fast one.
constexpr double kDecay = 1.02;
// The least cost: even bytes in the page cache are copied, at 50 GB/s at most.
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
  // Reads in flight have taken part of the time, but their bytes are not
  // counted yet. The measured cost is therefore too high, but only a little
  // with the larger window.
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

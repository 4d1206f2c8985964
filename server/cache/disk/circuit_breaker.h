#ifndef FOREBAY_SERVER_CACHE_DISK_CIRCUIT_BREAKER_H_
#define FOREBAY_SERVER_CACHE_DISK_CIRCUIT_BREAKER_H_

#include <algorithm>
#include <cstdint>

namespace forebay::cache::disk {

// How long a disk that fails is left alone: each time in a row for twice as
// long, up to five minutes. A few failures are borne first. Not thread-safe;
// never blocks; no errors.
class CircuitBreaker {
 public:
  explicit CircuitBreaker(int borne) : borne_(borne) {}

  bool IsOpen(std::int64_t now_nanos) const { return now_nanos < until_nanos_; }

  // True: the breaker opens.
  bool Failed(std::int64_t now_nanos) {
    if (IsOpen(now_nanos)) return false;  // what was under way
    if (++failures_ <= borne_) return false;
    const int doubled = std::min(failures_ - borne_ - 1, kMaxDoubled);
    until_nanos_ = now_nanos + std::min(kFirstNanos << doubled, kLongestNanos);
    return true;
  }
  void Worked() { failures_ = 0; }

 private:
  static constexpr std::int64_t kFirstNanos = 1'000'000'000;
  static constexpr std::int64_t kLongestNanos = 300'000'000'000;
  static constexpr int kMaxDoubled = 9;

  const int borne_;
  int failures_ = 0;  // in a row
  std::int64_t until_nanos_ = INT64_MIN;
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_CIRCUIT_BREAKER_H_

#ifndef FOREBAY_SERVER_CACHE_DISK_CIRCUIT_BREAKER_H_
#define FOREBAY_SERVER_CACHE_DISK_CIRCUIT_BREAKER_H_

#include <algorithm>
#include <cstdint>

namespace forebay::cache::disk {

// Stops the use of a disk that fails. After a few tolerated failures in a row
// the breaker opens for a second. Each further failure opens it for twice as
// long, up to five minutes. A success ends the row of failures.
//
// Not thread-safe: its owner locks. Callers pass the time. Never blocks. Has no
// errors.
class CircuitBreaker {
 public:
  // Creates a breaker that stays closed for `tolerated` failures in a row.
  explicit CircuitBreaker(int tolerated) : tolerated_(tolerated) {}
  // Returns whether the disk is not to be used now.

  bool IsOpen(std::int64_t now_nanos) const { return now_nanos < until_nanos_; }
  // Returns for how many seconds more the breaker is open, rounded up; 0 if it
  // is not open.
  std::int64_t SecondsLeft(std::int64_t now_nanos) const {
    return IsOpen(now_nanos)
               ? (until_nanos_ - now_nanos + kFirstNanos - 1) / kFirstNanos
               : 0;
  }

  // Notes a failed operation. Returns true if this failure opens the breaker.
  bool RecordFailure(std::int64_t now_nanos) {
    if (IsOpen(now_nanos))
      return false;  // the operation began before the breaker opened
    if (++failures_ <= tolerated_) return false;
    const int doubled = std::min(failures_ - tolerated_ - 1, kMaxDoubled);
    until_nanos_ = now_nanos + std::min(kFirstNanos << doubled, kLongestNanos);
    return true;
  }
  // Notes an operation that succeeded.
  void RecordSuccess() { failures_ = 0; }

 private:
  static constexpr std::int64_t kFirstNanos = 1'000'000'000;
  static constexpr std::int64_t kLongestNanos = 300'000'000'000;
  static constexpr int kMaxDoubled = 9;  // 2^9 seconds exceed kLongestNanos

  const int tolerated_;
  int failures_ = 0;  // in a row
  std::int64_t until_nanos_ = INT64_MIN;
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_CIRCUIT_BREAKER_H_

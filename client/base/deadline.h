#ifndef FOREBAY_CLIENT_BASE_DEADLINE_H_
#define FOREBAY_CLIENT_BASE_DEADLINE_H_

#include <time.h>

#include <algorithm>
#include <cstdint>

namespace forebay::client {

// Returns the monotonic clock's time in nanoseconds.
inline std::int64_t NowNanos() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

// Converts a caller's timeout from seconds to nanoseconds. Returns -1, which
// means to wait without end, if the seconds are negative, NaN or more than a
// century.
inline std::int64_t Nanos(double seconds) {
  // Seconds: 127 years, which fit into 63 bits of nanoseconds.
  constexpr double kLongest = 4e9;
  if (!(seconds >= 0) || seconds > kLongest) return -1;
  return static_cast<std::int64_t>(seconds * 1e9);
}

// The time of the monotonic clock until which a call may wait. Immutable, and
// therefore thread-safe. Owns nothing. Never blocks. Has no errors.
class Deadline {
 public:
  // Sets the deadline to `nanos` nanoseconds from now; negative: never.
  explicit Deadline(std::int64_t nanos)
      : at_(nanos < 0 || nanos > kNever - NowNanos() ? kNever
                                                     : NowNanos() + nanos) {}

  // Returns the nanoseconds that are left; 0 once the deadline has passed.
  std::int64_t Remaining() const {
    if (at_ == kNever) return kNever;
    return std::max<std::int64_t>(0, at_ - NowNanos());
  }
  bool Passed() const { return at_ != kNever && NowNanos() >= at_; }

 private:
  // Half of the largest number, so that sums with it do not overflow.
  static constexpr std::int64_t kNever = INT64_MAX / 2;

  std::int64_t at_;  // nanoseconds of the monotonic clock; kNever: no end
};

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_BASE_DEADLINE_H_

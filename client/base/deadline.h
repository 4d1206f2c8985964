#ifndef FOREBAY_CLIENT_BASE_DEADLINE_H_
#define FOREBAY_CLIENT_BASE_DEADLINE_H_

#include <time.h>

#include <algorithm>
#include <cstdint>

namespace forebay::client {

// Nanoseconds of the monotonic clock.
inline std::int64_t NowNanos() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

// A caller's seconds in nanoseconds; -1, which means never, if they are
// negative, NaN or too many.
inline std::int64_t Nanos(double seconds) {
  constexpr double kLongest = 4e9;  // more than a century
  if (!(seconds >= 0) || seconds > kLongest) return -1;
  return static_cast<std::int64_t>(seconds * 1e9);
}

// A point of the monotonic clock. Immutable value; never blocks; no errors.
class Deadline {
 public:
  // `nanos` nanoseconds from now; negative: never.
  explicit Deadline(std::int64_t nanos)
      : at_(nanos < 0 || nanos > kNever - NowNanos() ? kNever
                                                     : NowNanos() + nanos) {}

  // Nanoseconds left, 0 when it has passed.
  std::int64_t Remaining() const {
    if (at_ == kNever) return kNever;
    return std::max<std::int64_t>(0, at_ - NowNanos());
  }
  bool Passed() const { return at_ != kNever && NowNanos() >= at_; }

 private:
  static constexpr std::int64_t kNever = INT64_MAX / 2;

  std::int64_t at_;
};

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_BASE_DEADLINE_H_

#ifndef FOREBAY_CLIENT_BASE_BACKOFF_H_
#define FOREBAY_CLIENT_BASE_BACKOFF_H_

#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "client/base/deadline.h"

namespace forebay::client {

// How long to pause between tries. The step doubles each time, up to a second;
// a pause is a random part of it, so that many clients of one daemon do not
// come back all at once. Not thread-safe; never blocks; has no errors.
class Backoff {
 public:
  static constexpr std::int64_t kFirstNanos = 10'000'000;
  static constexpr std::int64_t kLastNanos = 1'000'000'000;

  // Pauses of the kernel's randomness, or of the time where there is none.
  Backoff() {
    if (getentropy(&state_, sizeof state_) != 0)
      state_ = static_cast<std::uint64_t>(NowNanos());
  }
  // Equal seeds give equal pauses.
  explicit Backoff(std::uint64_t seed) : state_(seed) {}

  // The next pause, in nanoseconds: between half of its step and all of it.
  std::int64_t Next() {
    const std::int64_t half = step_ / 2;
    step_ = std::min(2 * step_, kLastNanos);
    return half +
           static_cast<std::int64_t>(Draw() % static_cast<std::uint64_t>(half));
  }

  // Starts again with the first step.
  void Reset() { step_ = kFirstNanos; }

 private:
  std::uint64_t Draw() {  // splitmix64
    std::uint64_t bits = state_ += 0x9e3779b97f4a7c15;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    return bits ^ (bits >> 31);
  }

  std::uint64_t state_;
  std::int64_t step_ = kFirstNanos;
};

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_BASE_BACKOFF_H_

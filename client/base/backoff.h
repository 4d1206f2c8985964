#ifndef FOREBAY_CLIENT_BASE_BACKOFF_H_
#define FOREBAY_CLIENT_BASE_BACKOFF_H_

#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "client/base/deadline.h"

namespace forebay::client {

// The pauses between tries to reach a daemon. The step doubles with each pause,
// up to a second. Each pause is a random part of the step, so that the clients
// of one daemon do not all come back at once. Not thread-safe. Owns nothing.
// Never blocks. Has no errors.
class Backoff {
 public:
  static constexpr std::int64_t kFirstNanos = 10'000'000;
  static constexpr std::int64_t kLastNanos = 1'000'000'000;

  // Seeds the pauses by the kernel's random numbers. If the kernel gives none,
  // seeds the pauses by the time.
  Backoff() {
    if (getentropy(&state_, sizeof state_) != 0)
      state_ = static_cast<std::uint64_t>(NowNanos());
  }
  // Makes pauses that depend on `seed` alone, for tests.
  explicit Backoff(std::uint64_t seed) : state_(seed) {}

  // Returns the next pause in nanoseconds: a random time between half of the
  // step and the whole step. Pauses are random, but they still grow, because
  // none is shorter than half a step.
  std::int64_t Next() {
    const std::int64_t half = step_ / 2;
    step_ = std::min(2 * step_, kLastNanos);
    return half +
           static_cast<std::int64_t>(Draw() % static_cast<std::uint64_t>(half));
  }

  // Sets the step back to its first value. Called after a try has succeeded.
  void Reset() { step_ = kFirstNanos; }

 private:
  // Returns 64 random bits. The algorithm and its constants are those of
  // splitmix64.
  std::uint64_t Draw() {
    std::uint64_t bits = state_ += 0x9e3779b97f4a7c15;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    return bits ^ (bits >> 31);
  }

  std::uint64_t state_;
  std::int64_t step_ = kFirstNanos;  // nanoseconds
};

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_BASE_BACKOFF_H_

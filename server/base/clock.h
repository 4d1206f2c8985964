#ifndef FOREBAY_SERVER_BASE_CLOCK_H_
#define FOREBAY_SERVER_BASE_CLOCK_H_

#include <atomic>
#include <cstdint>

namespace forebay::base {

// Tells time that never runs backwards. Thread-safe; never blocks; the caller
// owns it.
class Clock {
 public:
  virtual ~Clock() = default;

  // Nanoseconds since some fixed point.
  virtual std::int64_t NowNanos() const = 0;

  // CLOCK_MONOTONIC; lives as long as the process.
  static const Clock* Monotonic();

  // Nanoseconds since 1970, by the host's clock. The only clock that may be set
  // back. Lives as long as the process.
  static const Clock* Wall();

  // The CPU time of the calling thread; lives as long as the process.
  static const Clock* ThreadCpu();
};

// A clock that tests move.
class FakeClock final : public Clock {
 public:
  std::int64_t NowNanos() const override { return now_nanos_.load(); }
  void Advance(std::int64_t nanos) { now_nanos_ += nanos; }

 private:
  std::atomic<std::int64_t> now_nanos_ = 0;
};

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_CLOCK_H_

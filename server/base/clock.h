#ifndef FOREBAY_SERVER_BASE_CLOCK_H_
#define FOREBAY_SERVER_BASE_CLOCK_H_

#include <atomic>
#include <cstdint>

namespace forebay::base {

// Tells the time in nanoseconds. Only the wall clock may run backwards.
// Thread-safe. Its creator owns it; the system clocks below live as long as the
// process. Never blocks. There are no errors.
class Clock {
 public:
  virtual ~Clock() = default;

  // Returns the nanoseconds since a fixed point, which depends on the clock.
  virtual std::int64_t NowNanos() const = 0;

  // Returns the clock of intervals and deadlines: CLOCK_MONOTONIC, which counts
  // from about the start of the host.
  static const Clock* Monotonic();

  // Returns the host's calendar clock: CLOCK_REALTIME, which counts from the
  // beginning of 1970 (UTC). This is the only clock that may be set back.
  static const Clock* Wall();

  // Returns the clock of the calling thread's CPU time
  // (CLOCK_THREAD_CPUTIME_ID): each thread reads its own time from it.
  static const Clock* ThreadCpu();
};

// A clock that stands still until a test advances it. Thread-safe; never
// blocks.
class FakeClock final : public Clock {
 public:
  std::int64_t NowNanos() const override { return now_nanos_.load(); }
  void Advance(std::int64_t nanos) { now_nanos_ += nanos; }

 private:
  std::atomic<std::int64_t> now_nanos_ = 0;
};

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_CLOCK_H_

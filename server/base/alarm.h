#ifndef FOREBAY_SERVER_BASE_ALARM_H_
#define FOREBAY_SERVER_BASE_ALARM_H_

#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"

namespace forebay::base {

// Calls `ring` at a set time, on a thread of its own that sleeps until then.
// Thread-safe. The caller owns the alarm. SetFor does not block; its caller may
// hold a lock that `ring` takes. Destruction waits for a call of `ring` that is
// under way; `ring` is not called afterwards. There are no errors: if the
// system refuses the thread at construction, each SetFor tries to start it
// again.
class Alarm {
 public:
  // Starts the thread under `name`, of at most 15 bytes (pthread_setname_np).
  // `clock` outlives the alarm.
  Alarm(std::string name, std::function<void()> ring,
        const Clock* clock = Clock::Monotonic());
  ~Alarm();
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  // Sets the time of the next call of `ring`: `at_nanos` of the clock, or soon
  // after. A time that was set before and has not come yet is replaced.
  // INT64_MAX means that `ring` is not called. Returns false if there is no
  // thread to make the call.
  bool SetFor(std::int64_t at_nanos);
  // Returns whether the system has granted the thread.
  bool has_thread() const;

 private:
  void StartLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The body of the thread: sleeps and rings until `ending_`.
  void Work();

  const std::string name_;
  const std::function<void()> ring_;
  const Clock* const clock_;
  mutable Mutex mutex_;
  CondVar sooner_or_end_;
  std::int64_t at_nanos_ ABSL_GUARDED_BY(mutex_) = INT64_MAX;
  // The time until which the thread sleeps. SetFor wakes the thread only for an
  // earlier time. If SetFor sets a later time, the thread wakes up at the old
  // time and sleeps again.
  std::int64_t asleep_until_ ABSL_GUARDED_BY(mutex_) = INT64_MAX;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  // not joinable if the system refused it
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_ALARM_H_

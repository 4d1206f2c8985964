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

// Calls `ring` at a set time, on a thread of its own, which sleeps until then.
// Thread-safe. The caller owns it. Destruction waits for a call that is under
// way; no call comes after it. SetFor does not block, and may be called with a
// lock held that `ring` takes. No errors: if the system refuses the thread at
// construction, each SetFor tries again.
class Alarm {
 public:
  // `name` is the thread's, at most 15 bytes.
  Alarm(std::string name, std::function<void()> ring,
        const Clock* clock = Clock::Monotonic());
  ~Alarm();
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  // Rings once, at that time of the clock or soon after. Replaces a time that
  // has not come yet. INT64_MAX: never. Returns false if there is no thread.
  bool SetFor(std::int64_t at_nanos);
  // Returns whether there is a thread.
  bool has_thread() const;

 private:
  void StartLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Work();

  const std::string name_;
  const std::function<void()> ring_;
  const Clock* const clock_;
  mutable Mutex mutex_;
  CondVar sooner_or_end_;
  std::int64_t at_nanos_ ABSL_GUARDED_BY(mutex_) = INT64_MAX;
  // The time that the thread sleeps until.
  std::int64_t asleep_until_ ABSL_GUARDED_BY(mutex_) = INT64_MAX;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);  // not joinable: refused
};

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_ALARM_H_

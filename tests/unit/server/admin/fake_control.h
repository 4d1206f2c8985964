#ifndef FOREBAY_TESTS_UNIT_SERVER_ADMIN_FAKE_CONTROL_H_
#define FOREBAY_TESTS_UNIT_SERVER_ADMIN_FAKE_CONTROL_H_

#include <string>

#include "absl/status/status.h"
#include "server/base/mutex.h"
#include "server/job/control.h"

namespace forebay::admin {

// A job::Control that knows one job, "resnet", and stores its last change.
// Thread-safe.
class FakeControl final : public job::Control {
 public:
  absl::Status Change(const std::string& job,
                      const job::JobChange& change) override {
    const base::MutexLock lock(&mutex_);
    if (job != "resnet") {
      return absl::NotFoundError("no job is called so; there is: resnet");
    }
    change_ = change;
    return absl::OkStatus();
  }
  // Returns the last change of "resnet".
  job::JobChange change() const {
    const base::MutexLock lock(&mutex_);
    return change_;
  }

 private:
  mutable base::Mutex mutex_;
  job::JobChange change_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::admin

#endif  // FOREBAY_TESTS_UNIT_SERVER_ADMIN_FAKE_CONTROL_H_

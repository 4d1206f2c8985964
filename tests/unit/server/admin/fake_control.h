#ifndef FOREBAY_TESTS_UNIT_SERVER_ADMIN_FAKE_CONTROL_H_
#define FOREBAY_TESTS_UNIT_SERVER_ADMIN_FAKE_CONTROL_H_

#include <string>

#include "absl/status/status.h"
#include "server/base/mutex.h"
#include "server/job/control.h"

namespace forebay::admin {

// Knows one job, "resnet", and keeps what it is told. Thread-safe.
class FakeControl final : public job::Control {
 public:
  absl::Status SetWeight(const std::string& job, double weight) override {
    const base::MutexLock lock(&mutex_);
    if (job != "resnet") {
      return absl::NotFoundError("no job is called so; there is: resnet");
    }
    weight_ = weight;
    return absl::OkStatus();
  }
  // Of resnet; 0: not set.
  double weight() const {
    const base::MutexLock lock(&mutex_);
    return weight_;
  }

 private:
  mutable base::Mutex mutex_;
  double weight_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay::admin

#endif  // FOREBAY_TESTS_UNIT_SERVER_ADMIN_FAKE_CONTROL_H_

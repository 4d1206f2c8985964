#include "server/daemon/exit_deadline.h"

#include <algorithm>
#include <utility>

#include "server/base/clock.h"
#include "spdlog/spdlog.h"

namespace forebay::daemon {
namespace {

std::int64_t Now() { return base::Clock::Monotonic()->NowNanos(); }

}  // namespace

ExitDeadline::ExitDeadline(Actions actions, std::string step,
                           const Limits& limits)
    : actions_(std::move(actions)),
      longest_step_(limits.step),
      last_nanos_(Now() + limits.all.count()),
      step_(std::move(step)),
      end_nanos_(std::min(Now() + limits.step.count(), last_nanos_)),
      thread_([this] { Watch(); }) {}

ExitDeadline::~ExitDeadline() {
  {
    base::MutexLock lock(&mutex_);
    done_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void ExitDeadline::Begin(std::string step) {
  base::MutexLock lock(&mutex_);
  step_ = std::move(step);
  end_nanos_ = std::min(Now() + longest_step_.count(), last_nanos_);
}

void ExitDeadline::Expire() {
  std::string step;
  {
    base::MutexLock lock(&mutex_);
    step = step_;
  }
  spdlog::warn("forebayd leaves without waiting for {}, which hangs", step);
  spdlog::default_logger()->flush();
  actions_.let_go();
  actions_.exit();
}

// Expire is called without the mutex: if `exit` ends the process, Expire does
// not return, and Begin must not wait for it.
void ExitDeadline::Watch() {
  {
    base::MutexLock lock(&mutex_);
    while (!done_) {
      const std::chrono::nanoseconds left(end_nanos_ - Now());
      if (left.count() <= 0) break;
      changed_.WaitFor(&mutex_, left);
    }
    if (done_) return;
  }
  Expire();
}

}  // namespace forebay::daemon

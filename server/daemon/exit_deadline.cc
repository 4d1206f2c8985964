#include "server/daemon/exit_deadline.h"

#include <utility>

#include "server/base/clock.h"
#include "spdlog/spdlog.h"

namespace forebay::daemon {
namespace {

std::int64_t Now() { return base::Clock::Monotonic()->NowNanos(); }

}  // namespace

ExitDeadline::ExitDeadline(Actions actions, std::string step,
                           std::chrono::nanoseconds longest_step)
    : actions_(std::move(actions)),
      longest_step_(longest_step),
      step_(std::move(step)),
      end_nanos_(Now() + longest_step.count()),
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
  end_nanos_ = Now() + longest_step_.count();
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

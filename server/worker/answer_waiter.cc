#include "server/worker/answer_waiter.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "server/base/check.h"

namespace forebay::worker {
namespace {

void Wake(const base::Fd& event) {
  const std::uint64_t one = 1;
  FOREBAY_CHECK(write(event.get(), &one, sizeof(one)) == sizeof(one));
}

}  // namespace

AnswerWaiter::AnswerWaiter(const base::Clock* clock)
    : clock_(clock), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  FOREBAY_CHECK(wake_);
  thread_ = std::thread([this] { Run(); });
}

AnswerWaiter::~AnswerWaiter() {
  {
    base::MutexLock lock(&mutex_);
    ending_ = true;
  }
  Wake(wake_);
  thread_.join();
}

void AnswerWaiter::Wait(std::shared_ptr<TaskSocket> socket, Done done) {
  const int fd = socket->fd();
  Watch(fd, [socket = std::move(socket), done = std::move(done)] {
    auto answer = socket->Await(0);
    if (absl::IsDeadlineExceeded(answer.status())) return false;
    done(std::move(answer));
    return true;
  });
}

void AnswerWaiter::Watch(int fd, Ready ready) {
  base::MutexLock lock(&mutex_);
  if (ending_) return;
  added_.push_back({fd, std::move(ready)});
  Wake(wake_);
}

void AnswerWaiter::Post(std::function<void()> work) {
  base::MutexLock lock(&mutex_);
  if (ending_) return;
  posted_.push_back(std::move(work));
  Wake(wake_);
}

void AnswerWaiter::PostAfter(std::int64_t nanos, std::function<void()> work) {
  base::MutexLock lock(&mutex_);
  if (ending_) return;
  timed_.emplace(clock_->NowNanos() + nanos, std::move(work));
  Wake(wake_);
}

void AnswerWaiter::Run() {
  pthread_setname_np(pthread_self(), "forebay-answers");
  std::vector<Watched> watched;
  for (;;) {
    std::vector<std::function<void()>> posted;
    int milliseconds;
    {
      base::MutexLock lock(&mutex_);
      if (ending_) return;
      std::move(added_.begin(), added_.end(), std::back_inserter(watched));
      added_.clear();
      posted.swap(posted_);
      milliseconds = TakeDueLocked(posted);
    }
    for (auto& work : posted) {
      work();
      // Another thread may be waiting until the captures are released.
      work = nullptr;
    }
    for (Watched& one : TakeReady(watched, milliseconds)) {
      if (!one.ready()) watched.push_back(std::move(one));
    }
  }
}

int AnswerWaiter::TakeDueLocked(std::vector<std::function<void()>>& due) {
  constexpr std::int64_t kNanosPerMilli = 1'000'000;
  // The longest poll. Polls are short, because a poll does not notice when a
  // test moves its clock.
  constexpr std::int64_t kMostMillis = 1000;
  const std::int64_t now = clock_->NowNanos();
  while (!timed_.empty() && timed_.begin()->first <= now)
    due.push_back(std::move(timed_.extract(timed_.begin()).mapped()));
  if (timed_.empty()) return -1;
  const std::int64_t left = timed_.begin()->first - now;
  return static_cast<int>(std::min(kMostMillis, left / kNanosPerMilli + 1));
}

std::vector<AnswerWaiter::Watched> AnswerWaiter::TakeReady(
    std::vector<Watched>& watched, int milliseconds) const {
  std::vector<struct pollfd> polled;
  polled.reserve(watched.size() + 1);
  polled.push_back({.fd = wake_.get(), .events = POLLIN, .revents = 0});
  for (const Watched& one : watched)
    polled.push_back({.fd = one.fd, .events = POLLIN, .revents = 0});
  std::vector<Watched> ready;
  if (poll(polled.data(), polled.size(), milliseconds) <= 0) return ready;
  std::uint64_t count;
  if (polled[0].revents != 0 &&
      read(wake_.get(), &count, sizeof(count)) != sizeof(count)) {
    return ready;
  }
  std::vector<Watched> left;
  left.reserve(watched.size());
  for (std::size_t i = 0; i < watched.size(); ++i) {
    (polled[i + 1].revents != 0 ? ready : left)
        .push_back(std::move(watched[i]));
  }
  watched = std::move(left);
  return ready;
}

}  // namespace forebay::worker

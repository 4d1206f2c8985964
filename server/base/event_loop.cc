#include "server/base/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::base {
namespace {

// Resets an eventfd or timerfd, so that it is not ready until its next event.
void Drain(int fd) {
  std::uint64_t count;
  [[maybe_unused]] const ssize_t n = read(fd, &count, sizeof(count));
}

}  // namespace

absl::StatusOr<std::unique_ptr<EventLoop>> EventLoop::Create() {
  Fd epoll(epoll_create1(EPOLL_CLOEXEC));
  Fd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll || !wake) return ErrnoStatus(errno, "creating an event loop");
  const int wake_fd = wake.get();
  std::unique_ptr<EventLoop> loop(
      new EventLoop(std::move(epoll), std::move(wake)));
  FOREBAY_RETURN_IF_ERROR(loop->Add(wake_fd, EPOLLIN,
                                    [loop = loop.get()](std::uint32_t) {
                                      Drain(loop->wake_.get());
                                      loop->RunPosted();
                                    })
                              .status());
  return loop;
}

absl::StatusOr<EventLoop::Watch> EventLoop::Add(
    int fd, std::uint32_t events, std::function<void(std::uint32_t)> ready) {
  const Watch watch = ++last_watch_;
  struct epoll_event event = {};
  event.events = events;
  event.data.u64 = watch;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return ErrnoStatus(errno, "watching a descriptor");
  }
  watched_[watch] = std::make_shared<Watched>(Watched{fd, std::move(ready)});
  return watch;
}

void EventLoop::SetEvents(Watch watch, std::uint32_t events) {
  const auto found = watched_.find(watch);
  FOREBAY_CHECK(found != watched_.end());
  struct epoll_event event = {};
  event.events = events;
  event.data.u64 = watch;
  FOREBAY_CHECK(
      epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, found->second->fd, &event) == 0);
}

void EventLoop::Remove(Watch watch) {
  const auto found = watched_.find(watch);
  if (found == watched_.end()) return;
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second->fd, nullptr);
  watched_.erase(found);
}

absl::Status EventLoop::Every(std::int64_t period_nanos,
                              std::function<void()> tick) {
  Fd timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer) return ErrnoStatus(errno, "creating a timer");
  struct itimerspec spec = {};
  spec.it_value.tv_sec = spec.it_interval.tv_sec = period_nanos / 1'000'000'000;
  spec.it_value.tv_nsec = spec.it_interval.tv_nsec =
      period_nanos % 1'000'000'000;
  if (timerfd_settime(timer.get(), 0, &spec, nullptr) != 0) {
    return ErrnoStatus(errno, "setting a timer");
  }
  const int fd = timer.get();
  timers_.push_back(std::make_unique<Fd>(std::move(timer)));
  return Add(fd, EPOLLIN,
             [fd, tick = std::move(tick)](std::uint32_t) {
               Drain(fd);
               tick();
             })
      .status();
}

void EventLoop::Post(std::function<void()> task) {
  {
    MutexLock lock(&mutex_);
    posted_.push_back(std::move(task));
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(wake_.get(), &one, sizeof(one));
}

void EventLoop::RunPosted() {
  // Tasks that these tasks post run in the next round, so that a task which
  // posts itself does not keep descriptors waiting.
  std::vector<std::function<void()>> tasks;
  {
    MutexLock lock(&mutex_);
    tasks.swap(posted_);
  }
  for (const std::function<void()>& task : tasks) task();
}

void EventLoop::Run() {
  std::array<struct epoll_event, 64> events;
  while (!stopped_) {
    const int n = epoll_wait(epoll_.get(), events.data(), events.size(), -1);
    FOREBAY_CHECK(n >= 0 || errno == EINTR);
    for (int i = 0; i < n; ++i) {
      // An earlier callback of this round may have removed the watch. Events
      // carry the watch's number and not its descriptor, because descriptors
      // are reused.
      const auto found = watched_.find(events[i].data.u64);
      if (found == watched_.end()) continue;
      const std::shared_ptr<Watched> watched = found->second;
      watched->ready(events[i].events);
    }
  }
}

// The empty task wakes the loop, which then sees `stopped_`.
void EventLoop::Stop() {
  stopped_ = true;
  Post([] {});
}

}  // namespace forebay::base

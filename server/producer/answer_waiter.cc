#include "server/producer/answer_waiter.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "server/base/check.h"

namespace forebay::producer {
namespace {

void Wake(const base::Fd& event) {
  const std::uint64_t one = 1;
  FOREBAY_CHECK(write(event.get(), &one, sizeof(one)) == sizeof(one));
}

}  // namespace

AnswerWaiter::AnswerWaiter() : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
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

void AnswerWaiter::Wait(std::shared_ptr<Producer> producer, Done done) {
  base::MutexLock lock(&mutex_);
  if (ending_) return;
  added_.push_back({std::move(producer), std::move(done)});
  Wake(wake_);
}

void AnswerWaiter::Run() {
  pthread_setname_np(pthread_self(), "forebay-answers");
  std::vector<Waiting> waiting;
  for (;;) {
    {
      base::MutexLock lock(&mutex_);
      std::move(added_.begin(), added_.end(), std::back_inserter(waiting));
      added_.clear();
      if (ending_) return;
    }
    for (Waiting& ready : TakeReady(waiting)) {
      auto answer = ready.producer->socket.Await(0);
      if (absl::IsDeadlineExceeded(answer.status())) {
        waiting.push_back(std::move(ready));
      } else {
        ready.done(std::move(ready.producer), std::move(answer));
      }
    }
  }
}

std::vector<AnswerWaiter::Waiting> AnswerWaiter::TakeReady(
    std::vector<Waiting>& waiting) const {
  std::vector<struct pollfd> polled;
  polled.push_back({.fd = wake_.get(), .events = POLLIN, .revents = 0});
  for (const Waiting& one : waiting) {
    polled.push_back(
        {.fd = one.producer->socket.fd(), .events = POLLIN, .revents = 0});
  }
  std::vector<Waiting> ready;
  if (poll(polled.data(), polled.size(), -1) <= 0) return ready;
  std::uint64_t count;
  if (polled[0].revents != 0 &&
      read(wake_.get(), &count, sizeof(count)) != sizeof(count)) {
    return ready;
  }
  std::vector<Waiting> left;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    (polled[i + 1].revents != 0 ? ready : left)
        .push_back(std::move(waiting[i]));
  }
  waiting = std::move(left);
  return ready;
}

}  // namespace forebay::producer

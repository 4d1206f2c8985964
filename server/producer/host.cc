#include "server/producer/host.h"

#include <algorithm>

#include "server/base/process.h"
#include "server/producer/host_lack.h"

namespace forebay::producer {
namespace {

void Fail(std::deque<Host::Order>& orders) {
  for (const Host::Order& order : orders)
    if (order.done != nullptr) order.done(HostGone());
}

}  // namespace

absl::Status HostGone() {
  return absl::UnavailableError(
      "the process that runs the dataset's code is gone");
}

std::shared_ptr<Host> Host::Create(TaskSocket socket, AnswerWaiter* waiter,
                                   const base::Clock* clock,
                                   std::function<void()> gone) {
  std::shared_ptr<Host> host(
      new Host(std::move(socket), waiter, clock, std::move(gone)));
  // The waiter keeps the host: its mappings count until the process is gone.
  waiter->Watch(host->socket_.fd(), [host] { return host->OnReadable(); });
  return host;
}

void Host::Send(Order order) {
  {
    base::MutexLock lock(&mutex_);
    if (!ended_) {
      waiting_.push_back(std::move(order));
      SendNextLocked();
      return;
    }
  }
  // A function must be copyable.
  const auto failed = std::make_shared<Order>(std::move(order));
  waiter_->Post([failed] {
    if (failed->done != nullptr) failed->done(HostGone());
  });
}

void Host::Ping() {
  base::MutexLock lock(&mutex_);
  if (ended_ || in_flight_.has_value()) return;
  Order order;
  order.task.command = proto::ProducerCommand::kPing;
  waiting_.push_back(std::move(order));
  SendNextLocked();
}

void Host::End() {
  const auto failed = std::make_shared<std::deque<Order>>();
  {
    base::MutexLock lock(&mutex_);
    if (ended_) return;
    *failed = EndLocked();
  }
  // The caller may hold locks that the callbacks take.
  waiter_->Post([failed] { Fail(*failed); });
}

void Host::Look() {
  base::MutexLock lock(&mutex_);
  const std::int64_t cpu_nanos = base::ProcessCpuNanos(pid_);
  // A process that only wakes now and then takes less.
  constexpr std::int64_t kLeastWorkNanos = 5'000'000;
  const std::int64_t before = std::exchange(cpu_nanos_, cpu_nanos);
  const bool computed = before >= 0 && cpu_nanos - before >= kLeastWorkNanos;
  if (pid_ != 0 && (computed || base::IsProcessRunnable(pid_)))
    worked_at_nanos_ = clock_->NowNanos();
}

std::int64_t Host::SilentNanos() const {
  constexpr std::int64_t kUnseenNanos = 2'000'000'000;
  base::MutexLock lock(&mutex_);
  if (!in_flight_.has_value()) return 0;
  const std::int64_t silent = clock_->NowNanos() - worked_at_nanos_;
  return std::max<std::int64_t>(0, pid_ == 0 ? silent - kUnseenNanos : silent);
}

std::int64_t Host::answered_at_nanos() const {
  base::MutexLock lock(&mutex_);
  return answered_at_nanos_;
}

bool Host::OnReadable() {
  auto answer = socket_.Await(0);
  if (absl::IsDeadlineExceeded(answer.status())) return false;
  if (answer.ok()) {
    OnAnswer(*std::move(answer));
    return false;
  }
  GiveUp();
  // A process that says nonsense still has mapped what it has.
  if (!absl::IsUnavailable(answer.status())) return false;
  Mappings mapped;  // released without the mutex
  base::MutexLock lock(&mutex_);
  mapped.swap(mapped_);
  return true;
}

void Host::OnAnswer(Answer answer) {
  std::optional<Order> order;
  Mappings dropped;  // released without the mutex
  Done done;
  {
    base::MutexLock lock(&mutex_);
    if (ended_) return;
    answered_at_nanos_ = clock_->NowNanos();
    pid_ = answer.sender;
    if (process_ == nullptr && in_flight_.has_value() &&
        in_flight_->task.command == proto::ProducerCommand::kMapSlot)
      process_ = OpenOwnProcess(std::move(answer.fd), pid_);
    order = std::exchange(in_flight_, std::nullopt);
    if (order.has_value()) {
      const proto::ProducerTask& task = order->task;
      const bool maps = task.command == proto::ProducerCommand::kMapSlot;
      if (maps && answer.failures.empty()) mapped_[task.slot] = order->mapping;
      if (maps || task.command == proto::ProducerCommand::kFork)
        lacks_ = !answer.failures.empty();
      if (task.command == proto::ProducerCommand::kUnmapSlot)
        dropped.insert(mapped_.extract(task.slot));
      if (task.command == proto::ProducerCommand::kFork) done.mapped = mapped_;
      SendNextLocked();
    }
  }
  if (!order.has_value()) {
    GiveUp();  // nobody asked
    return;
  }
  if (order->done == nullptr) return;
  if (!answer.failures.empty()) {
    order->done(HostLack(answer.failures.front().text));
    return;
  }
  done.answer = std::move(answer);
  order->done(std::move(done));
}

bool Host::lacks() const {
  base::MutexLock lock(&mutex_);
  return lacks_;
}

void Host::GiveUp() {
  std::deque<Order> failed;
  {
    base::MutexLock lock(&mutex_);
    if (ended_) return;
    failed = EndLocked();
  }
  gone_callback_();
  Fail(failed);
}

void Host::SendNextLocked() {
  if (in_flight_.has_value() || waiting_.empty()) return;
  in_flight_ = std::move(waiting_.front());
  waiting_.pop_front();
  worked_at_nanos_ = clock_->NowNanos();
  const Order& order = *in_flight_;
  // A process that is gone is noticed when its socket is read.
  socket_
      .Ask(order.task, order.behind,
           order.own_fd ? order.own_fd.get() : order.fd)
      .IgnoreError();
  in_flight_->own_fd.Close();
}

std::deque<Host::Order> Host::EndLocked() {
  ended_ = true;
  std::deque<Order> failed = std::move(waiting_);
  waiting_.clear();
  if (in_flight_.has_value()) {
    // The process may have mapped it already.
    if (in_flight_->task.command == proto::ProducerCommand::kMapSlot)
      mapped_[in_flight_->task.slot] = in_flight_->mapping;
    failed.push_front(*std::move(in_flight_));
    in_flight_.reset();
  }
  socket_.Dismiss();
  waiter_->PostAfter(kEndPatienceNanos, [weak = weak_from_this()] {
    if (const auto late = weak.lock()) late->Kill();
  });
  return failed;
}

// A process that is stopped has not noticed that it is to end.
void Host::Kill() {
  base::MutexLock lock(&mutex_);
  if (process_ != nullptr) process_->Kill();
}

}  // namespace forebay::producer

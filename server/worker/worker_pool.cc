#include "server/worker/worker_pool.h"

#include <algorithm>

#include "server/base/process.h"
#include "server/worker/pool_lack.h"

namespace forebay::worker {
namespace {

void Fail(std::deque<WorkerPool::Order>& orders) {
  for (const WorkerPool::Order& order : orders)
    if (order.done != nullptr) order.done(PoolGone());
}

}  // namespace

absl::Status PoolGone() {
  return absl::UnavailableError(
      "the process that runs the dataset's code is gone");
}

std::shared_ptr<WorkerPool> WorkerPool::Create(TaskSocket socket,
                                               AnswerWaiter* waiter,
                                               const base::Clock* clock,
                                               std::function<void()> gone) {
  std::shared_ptr<WorkerPool> pool(
      new WorkerPool(std::move(socket), waiter, clock, std::move(gone)));
  // The waiter keeps the WorkerPool until the process is gone, because until
  // then the process may still use its mappings.
  waiter->Watch(pool->socket_.fd(), [pool] { return pool->OnReadable(); });
  return pool;
}

void WorkerPool::Send(Order order) {
  {
    base::MutexLock lock(&mutex_);
    if (!ended_) {
      waiting_.push_back(std::move(order));
      SendNextLocked();
      return;
    }
  }
  // A std::function must be copyable, and an Order is not.
  const auto failed = std::make_shared<Order>(std::move(order));
  waiter_->Post([failed] {
    if (failed->done != nullptr) failed->done(PoolGone());
  });
}

void WorkerPool::Ping() {
  base::MutexLock lock(&mutex_);
  if (ended_ || in_flight_.has_value()) return;
  Order order;
  order.task.command = proto::WorkerCommand::kPing;
  waiting_.push_back(std::move(order));
  SendNextLocked();
}

void WorkerPool::End() {
  const auto failed = std::make_shared<std::deque<Order>>();
  {
    base::MutexLock lock(&mutex_);
    if (ended_) return;
    *failed = EndLocked();
  }
  // The caller may hold locks that the callbacks take, so the waiter's thread
  // calls them.
  waiter_->Post([failed] { Fail(*failed); });
}

void WorkerPool::Look() {
  base::MutexLock lock(&mutex_);
  const std::int64_t cpu_nanos = base::ProcessCpuNanos(pid_);
  // A process computes if it used at least this CPU time since the last look. A
  // process that only wakes now and then uses less.
  constexpr std::int64_t kLeastWorkNanos = 5'000'000;
  const std::int64_t before = std::exchange(cpu_nanos_, cpu_nanos);
  const bool computed = before >= 0 && cpu_nanos - before >= kLeastWorkNanos;
  if (pid_ != 0 && (computed || base::IsProcessRunnable(pid_)))
    worked_at_nanos_ = clock_->NowNanos();
}

std::int64_t WorkerPool::SilentNanos() const {
  // The daemon cannot see whether an invisible process works, so such a process
  // gets this much more time.
  constexpr std::int64_t kUnseenNanos = 2'000'000'000;
  base::MutexLock lock(&mutex_);
  if (!in_flight_.has_value()) return 0;
  const std::int64_t silent = clock_->NowNanos() - worked_at_nanos_;
  return std::max<std::int64_t>(0, pid_ == 0 ? silent - kUnseenNanos : silent);
}

std::int64_t WorkerPool::answered_at_nanos() const {
  base::MutexLock lock(&mutex_);
  return answered_at_nanos_;
}

bool WorkerPool::OnReadable() {
  auto answer = socket_.Await(0);
  if (absl::IsDeadlineExceeded(answer.status())) return false;
  if (answer.ok()) {
    OnAnswer(*std::move(answer));
    return false;
  }
  GiveUp();
  // A process that has broken the protocol still runs, and has its slots
  // mapped.
  if (!absl::IsUnavailable(answer.status())) return false;
  // The mappings are destroyed without the mutex.
  Mappings mapped;
  base::MutexLock lock(&mutex_);
  mapped.swap(mapped_);
  return true;
}

void WorkerPool::OnAnswer(TaskAnswer answer) {
  std::optional<Order> order;
  // `dropped` is destroyed after the mutex is released.
  Mappings dropped;
  Done done;
  {
    base::MutexLock lock(&mutex_);
    if (ended_) return;
    answered_at_nanos_ = clock_->NowNanos();
    pid_ = answer.sender;
    if (process_ == nullptr && in_flight_.has_value() &&
        in_flight_->task.command == proto::WorkerCommand::kMapSlot)
      process_ = OpenOwnProcess(std::move(answer.fd), pid_);
    order = std::exchange(in_flight_, std::nullopt);
    if (order.has_value()) {
      const proto::WorkerTask& task = order->task;
      const bool maps = task.command == proto::WorkerCommand::kMapSlot;
      if (maps && answer.failures.empty()) mapped_[task.slot] = order->mapping;
      if (maps || task.command == proto::WorkerCommand::kFork)
        lacks_ = !answer.failures.empty();
      if (task.command == proto::WorkerCommand::kUnmapSlot)
        dropped.insert(mapped_.extract(task.slot));
      if (task.command == proto::WorkerCommand::kFork) done.mapped = mapped_;
      SendNextLocked();
    }
  }
  if (!order.has_value()) {
    // The process has answered without an order.
    GiveUp();
    return;
  }
  if (order->done == nullptr) return;
  if (!answer.failures.empty()) {
    order->done(PoolLack(answer.failures.front().text));
    return;
  }
  done.answer = std::move(answer);
  order->done(std::move(done));
}

bool WorkerPool::lacks() const {
  base::MutexLock lock(&mutex_);
  return lacks_;
}

void WorkerPool::GiveUp() {
  std::deque<Order> failed;
  {
    base::MutexLock lock(&mutex_);
    if (ended_) return;
    failed = EndLocked();
  }
  gone_callback_();
  Fail(failed);
}

void WorkerPool::SendNextLocked() {
  if (in_flight_.has_value() || waiting_.empty()) return;
  in_flight_ = std::move(waiting_.front());
  waiting_.pop_front();
  worked_at_nanos_ = clock_->NowNanos();
  const Order& order = *in_flight_;
  // The socket becomes readable if the process is gone, and OnReadable handles
  // that.
  socket_
      .Ask(order.task, order.behind,
           order.own_fd ? order.own_fd.get() : order.fd)
      .IgnoreError();
  in_flight_->own_fd.Close();
}

std::deque<WorkerPool::Order> WorkerPool::EndLocked() {
  ended_ = true;
  std::deque<Order> failed = std::move(waiting_);
  waiting_.clear();
  if (in_flight_.has_value()) {
    // The process may have mapped the slot already, without having answered.
    if (in_flight_->task.command == proto::WorkerCommand::kMapSlot)
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

void WorkerPool::Kill() {
  base::MutexLock lock(&mutex_);
  if (process_ != nullptr) process_->Kill();
}

}  // namespace forebay::worker

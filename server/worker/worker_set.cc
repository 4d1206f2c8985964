#include "server/worker/worker_set.h"

#include <algorithm>

#include "server/base/check.h"
#include "server/base/status.h"
#include "server/worker/dismissal.h"
#include "server/worker/worker_process.h"
#include "spdlog/spdlog.h"

namespace forebay::worker {
namespace {

// The least time between two looks.
constexpr std::int64_t kLookNanos = 500'000'000;
// A task that has had no answer for this time makes Look ask whether the worker
// pool answers.
constexpr std::int64_t kPingNanos = 300'000'000;
// A worker pool that has not worked on a fork for this time may be paused.
// Tasks that wait for forks then get idle workers.
constexpr std::int64_t kLongForkNanos = 200'000'000;

absl::Status NoWorkerPool() {
  return absl::FailedPreconditionError(
      "no process was started that runs the dataset's code");
}

}  // namespace

std::shared_ptr<WorkerSet> WorkerSet::Create(std::vector<std::uint64_t> offsets,
                                             std::string name,
                                             const Deps& deps) {
  return std::shared_ptr<WorkerSet>(
      new WorkerSet(std::move(offsets), std::move(name), deps));
}

WorkerSet::WorkerSet(std::vector<std::uint64_t> offsets, std::string name,
                     const Deps& deps)
    : offsets_(std::move(offsets)),
      deps_(deps),
      group_(std::make_shared<MemoryGroup>(std::move(name))) {}

absl::StatusOr<base::Fd> WorkerSet::Start(std::uint32_t most,
                                          const std::string& owner) {
  FOREBAY_CHECK(most > 0 && most <= proto::kMaxWorkers);
  FOREBAY_ASSIGN_OR_RETURN(TaskSocket::Pair pair, TaskSocket::Create());
  base::MutexLock lock(&mutex_);
  if (pool_ != nullptr || ended_)
    return absl::FailedPreconditionError(refusal_);
  refusal_ = owner + " has started the workers that make these samples";
  pool_ = WorkerPool::Create(std::move(pair.ours), deps_.waiter, deps_.clock,
                             [weak = weak_from_this()] {
                               if (const auto self = weak.lock()) self->End();
                             });
  most_ = most;
  return std::move(pair.theirs);
}

std::uint32_t WorkerSet::most() const {
  base::MutexLock lock(&mutex_);
  return std::min(most_, group_->most());
}

absl::Status WorkerSet::CheckPool() const {
  base::MutexLock lock(&mutex_);
  if (ended_) return PoolGone();
  return pool_ == nullptr ? NoWorkerPool() : absl::OkStatus();
}

// --- Slots.

void WorkerSet::Share(Region region, Shared done) {
  const auto* const offsets =
      reinterpret_cast<const std::uint8_t*>(offsets_.data());
  WorkerPool::Order order;
  order.task = {.command = proto::WorkerCommand::kMapSlot,
                .slot = 0,
                .bytes = region.bytes,
                .epoch = 0,
                .count = static_cast<std::uint32_t>(offsets_.size()),
                .reserved = 0};
  order.behind.assign(offsets,
                      offsets + offsets_.size() * sizeof(std::uint64_t));
  order.fd = region.fd;
  order.mapping =
      std::make_shared<Mapping>(Mapping{.owner = std::move(region.owner)});
  base::MutexLock lock(&mutex_);
  if (pool_ == nullptr) {
    deps_.waiter->Post([done = std::move(done)] { done(NoWorkerPool()); });
    return;
  }
  order.task.slot = ++last_slot_;
  order.done = [weak = weak_from_this(), data = region.data,
                slot = order.task.slot, mapping = order.mapping,
                done =
                    std::move(done)](absl::StatusOr<WorkerPool::Done> mapped) {
    const auto self = weak.lock();
    if (!mapped.ok() || self == nullptr) {
      done(mapped.ok() ? PoolGone() : mapped.status());
      return;
    }
    self->OnMapped(data, slot, mapping);
    done(SharedSlot(static_cast<const void*>(data), [self](const void* shared) {
      self->Unmap(static_cast<const std::uint8_t*>(shared));
    }));
  };
  pool_->Send(std::move(order));
}

void WorkerSet::OnMapped(const std::uint8_t* data, std::uint32_t slot,
                         const std::shared_ptr<Mapping>& mapping) {
  base::MutexLock lock(&mutex_);
  slots_[data] = {.number = slot, .mapping = mapping};
  ++generation_;
}

void WorkerSet::Unmap(const std::uint8_t* data) {
  base::MutexLock lock(&mutex_);
  const auto found = slots_.find(data);
  if (found == slots_.end()) return;
  WorkerPool::Order order;
  order.task.command = proto::WorkerCommand::kUnmapSlot;
  order.task.slot = found->second.number;
  // The worker pool and the workers still share the mapping.
  slots_.erase(found);
  ++generation_;
  DismissOutdatedLocked();
  if (!ended_) pool_->Send(std::move(order));
}

std::optional<std::uint32_t> WorkerSet::SlotAt(const std::uint8_t* data) const {
  base::MutexLock lock(&mutex_);
  const auto found = slots_.find(data);
  if (found == slots_.end()) return std::nullopt;
  return found->second.number;
}

// --- Workers.

absl::StatusOr<WorkerPtr> WorkerSet::Take(std::optional<std::uint32_t> number,
                                          OnWorker later) {
  base::MutexLock lock(&mutex_);
  if (ended_) return PoolGone();
  if (pool_ == nullptr) return NoWorkerPool();
  DismissOutdatedLocked();
  auto idle = TakeIdleLocked(number);
  if (idle != nullptr) return idle;
  waiting_.Add(number, std::move(later));
  const absl::Status forks = ForkForWaitingLocked();
  if (!forks.ok()) {
    waiting_.RemoveLast();
    return forks;
  }
  return nullptr;
}

absl::Status WorkerSet::ForkForWaitingLocked() {
  for (const std::uint32_t number : waiting_.Numbers()) {
    if (!numbers_.contains(number)) FOREBAY_RETURN_IF_ERROR(ForkLocked(number));
  }
  while (forking_.size() < waiting_.WantAny())
    FOREBAY_RETURN_IF_ERROR(ForkLocked(FreeNumberLocked()));
  return absl::OkStatus();
}

absl::Status WorkerSet::ForkLocked(std::uint32_t number) {
  FOREBAY_ASSIGN_OR_RETURN(TaskSocket::Pair pair, TaskSocket::Create());
  WorkerPool::Order order;
  order.task.command = proto::WorkerCommand::kFork;
  order.task.slot = number;
  order.own_fd = std::move(pair.theirs);
  // A std::function must be copyable, and a TaskSocket is not.
  order.done = [weak = weak_from_this(), number,
                socket = std::make_shared<TaskSocket>(std::move(pair.ours))](
                   absl::StatusOr<WorkerPool::Done> forked) {
    if (const auto self = weak.lock())
      self->OnForked(number, std::move(*socket), std::move(forked));
  };
  numbers_.insert(number);
  forking_.insert(number);
  pool_->Send(std::move(order));
  return absl::OkStatus();
}

void WorkerSet::OnForked(std::uint32_t number, TaskSocket socket,
                         absl::StatusOr<WorkerPool::Done> done) {
  std::shared_ptr<const LimitedWorker> limited;
  if (done.ok()) limited = Limit(std::move(done->answer));
  Calls calls;
  {
    base::MutexLock lock(&mutex_);
    forking_.erase(number);
    if (done.ok() && !ended_) {
      // The worker pool had mapped all of slots_, and perhaps removed slots.
      const bool is_current = done->mapped.size() == slots_.size();
      GiveLocked(std::make_shared<Worker>(
                     std::move(socket), number, is_current ? generation_ : 0,
                     std::move(done->mapped), std::move(limited)),
                 &calls);
      // The worker may have slots mapped that were removed meanwhile.
      DismissOutdatedLocked();
    } else {
      numbers_.erase(number);
      if (OnWorker on_worker = waiting_.TakeFor(number)) {
        calls.emplace_back(std::move(on_worker),
                           done.ok() ? PoolGone() : done.status());
      }
      ReplaceLocked(&calls);
    }
  }
  Call(&calls);
}

std::shared_ptr<const LimitedWorker> WorkerSet::Limit(TaskAnswer forked) const {
  if (deps_.memory == nullptr) return nullptr;
  auto process = OpenProcess(std::move(forked.fd), forked.sender);
  return process == nullptr ? nullptr
                            : deps_.memory->Add(group_, std::move(process));
}

void WorkerSet::GiveBack(const WorkerPtr& worker, bool alive) {
  Calls calls;
  {
    base::MutexLock lock(&mutex_);
    in_use_.erase(worker.get());
    worker->asked_at_nanos_ = Worker::kNoTask;
    if (alive) answered_at_nanos_ = deps_.clock->NowNanos();
    if (!alive || ended_ || worker->generation_ != generation_) {
      numbers_.erase(worker->number_);
      if (alive || ended_) Dismiss(worker, deps_.waiter);
      ReplaceLocked(&calls);
    } else if (AwaitsForksLocked()) {
      idle_.push_back(worker);
    } else {
      GiveLocked(worker, &calls);
    }
  }
  Call(&calls);
}

void WorkerSet::GiveLocked(WorkerPtr worker, Calls* calls) {
  OnWorker on_worker = waiting_.TakeFor(worker->number_);
  if (on_worker == nullptr) {
    idle_.push_back(std::move(worker));
    return;
  }
  in_use_[worker.get()] = worker;
  calls->emplace_back(std::move(on_worker), std::move(worker));
}

void WorkerSet::ReplaceLocked(Calls* calls) {
  if (ended_) return;
  const absl::Status forks = ForkForWaitingLocked();
  if (!forks.ok()) waiting_.FailAll(forks, calls);
}

void WorkerSet::Call(Calls* calls) {
  for (auto& [on_worker, worker] : *calls) on_worker(std::move(worker));
}

void WorkerSet::DismissOutdatedLocked() {
  const auto is_outdated = [&](const WorkerPtr& worker)
                               ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                                 return worker->generation_ != generation_ ||
                                        worker->overrun().has_value();
                               };
  const auto remaining =
      std::stable_partition(idle_.begin(), idle_.end(), is_outdated);
  for (auto worker = idle_.begin(); worker != remaining; ++worker) {
    numbers_.erase((*worker)->number_);
    Dismiss(std::move(*worker), deps_.waiter);
  }
  idle_.erase(idle_.begin(), remaining);
}

WorkerPtr WorkerSet::TakeIdleLocked(std::optional<std::uint32_t> number) {
  for (;;) {
    const auto found =
        std::find_if(idle_.begin(), idle_.end(), [&](const auto& worker) {
          return !number.has_value() || worker->number_ == *number;
        });
    if (found == idle_.end()) return nullptr;
    WorkerPtr worker = std::move(*found);
    idle_.erase(found);
    if (!worker->HasLeft()) {
      in_use_[worker.get()] = worker;
      return worker;
    }
    numbers_.erase(worker->number_);
    Dismiss(std::move(worker), deps_.waiter);
  }
}

bool WorkerSet::AwaitsForksLocked() const {
  return !deps_.makes_parts && pool_->SilentNanos() < kLongForkNanos &&
         waiting_.Numbers().empty() && waiting_.WantAny() <= forking_.size();
}

void WorkerSet::GiveIdleLocked(Calls* calls) {
  if (waiting_.WantAny() == 0 || AwaitsForksLocked()) return;
  DismissOutdatedLocked();
  while (waiting_.WantAny() > 0) {
    WorkerPtr idle = TakeIdleLocked(std::nullopt);
    if (idle == nullptr) return;
    GiveLocked(std::move(idle), calls);
  }
}

std::uint32_t WorkerSet::FreeNumberLocked() const {
  std::uint32_t number = 0;
  while (numbers_.contains(number)) ++number;
  return number;
}

// --- Processes that do not answer.

void WorkerSet::Look(const Need& need) {
  Calls calls;
  {
    base::MutexLock lock(&mutex_);
    LookLocked(need, &calls);
  }
  Call(&calls);
}

void WorkerSet::LookLocked(const Need& need, Calls* calls) {
  const std::int64_t now = deps_.clock->NowNanos();
  if (ended_ || pool_ == nullptr ||
      (looked_at_nanos_.has_value() && now - *looked_at_nanos_ < kLookNanos))
    return;
  looked_at_nanos_ = now;
  pool_->Look();
  const StallContext context = {
      .now_nanos = now,
      .is_awaited = need.is_awaited,
      .pool_answered_at_nanos = pool_->answered_at_nanos(),
      .worker_answered_at_nanos = answered_at_nanos_,
      .task_nanos = need.task_nanos};
  if (LookAtWorkersLocked(need, context)) pool_->Ping();
  GiveIdleLocked(calls);
}

bool WorkerSet::LookAtWorkersLocked(const Need& need,
                                    const StallContext& context) {
  bool has_suspects = false;
  for (const auto& [address, weak] : in_use_) {
    const WorkerPtr worker = weak.lock();
    if (worker == nullptr) continue;
    const std::int64_t asked_at_nanos = worker->asked_at_nanos_;
    if (asked_at_nanos == Worker::kNoTask ||
        context.now_nanos - asked_at_nanos < kPingNanos)
      continue;
    has_suspects = true;
    const auto seen = worker->Look(context.now_nanos);
    if (!seen.has_value() || !need.may_retry || worker->stall().has_value())
      continue;
    const std::optional<Stall> stall = FindStall(*seen, context);
    if (stall.has_value() && worker->Kill(*stall)) Log(*worker, *stall);
  }
  return has_suspects;
}

void WorkerSet::Log(const Worker& worker, Stall stall) const {
  spdlog::warn(
      "{}: worker process {} {}, and was killed: another makes its samples",
      group_->name(), worker.process()->pid(),
      stall == Stall::kStopped ? "was stopped by a signal"
                               : "has slept over a task for long");
}

std::int64_t WorkerSet::SilentNanos() const {
  base::MutexLock lock(&mutex_);
  return ended_ || pool_ == nullptr ? 0 : pool_->SilentNanos();
}

// --- The end.

bool WorkerSet::ended() const {
  base::MutexLock lock(&mutex_);
  return ended_;
}

void WorkerSet::End() {
  base::MutexLock lock(&mutex_);
  if (ended_) return;
  ended_ = true;
  for (WorkerPtr& worker : idle_) Dismiss(std::move(worker), deps_.waiter);
  idle_.clear();
  for (const auto& [address, weak] : in_use_) {
    if (const auto worker = weak.lock()) worker->socket.End();
  }
  if (pool_ != nullptr) pool_->End();
  if (waiting_.empty()) return;
  // The caller may hold locks that the callbacks take.
  const auto failed = std::make_shared<Calls>();
  waiting_.FailAll(PoolGone(), failed.get());
  deps_.waiter->Post([failed] { Call(failed.get()); });
}

}  // namespace forebay::worker

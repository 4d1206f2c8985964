// Order. One fair queue decides the order of all tasks, short and long. A
// thread takes the first task of its kind. While all places of long tasks are
// taken, the next long task waits for a place. Short tasks overtake this task
// only as far as schedule::FairQueue allows. If a job of short tasks and a job
// of long tasks both have too much work, they thus get shares by their weights.
// The short tasks of a job that needs little still start at once.
//
// Unknown tasks. The CPU time of a job's first task is not known, so that task
// starts as a short one. If it takes long, the supervising thread counts it as
// long and starts another thread for short tasks. This happens even while as
// many long tasks run as there are CPUs. If jobs with long tasks begin together
// with a job of short tasks, they thus do not delay it. A stream submits no
// second task before its first is measured (stream/sample_tasks.h).
//
// Priorities. If there are n CPUs, up to n short and n long tasks may run at
// once. If more tasks run than there are CPUs, the threads with long tasks get
// a lower priority, and the kernel runs the short tasks first. A thread cannot
// get its old priority back. A thread of low priority thus ends when its task
// is done and no short task has needed a CPU for kCalmNanos; a new thread takes
// its place. Where no job has short tasks, long tasks compete with other
// processes at the usual priority. Threads with long tasks also ask for long
// slices, which a thread that wakes may cut short.
//
// Wake-ups. A new task wakes a sleeping thread only if more tasks wait than
// threads are waking. Threads that are awake look into the queue themselves. A
// thread that takes a task wakes the next thread if more tasks can start. If a
// cap holds tasks up, the alarm wakes a thread when a task may run. Reading a
// thread's CPU time is a system call, so one reading both ends a task and
// begins the next.
#include "server/executor/thread_pool_executor.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <system_error>
#include <utility>

#include "server/base/check.h"
#include "server/base/start_thread.h"
#include "spdlog/spdlog.h"

namespace forebay::executor {
namespace {

constexpr double kNanosPerSecond = 1e9;
// Threads with long tasks keep their low priority for this time after short
// tasks last needed the CPUs. Bursts of short tasks thus restart no threads.
constexpr std::int64_t kCalmNanos = 1'000'000'000;
// The wait before the next try to start a thread that the system has refused.
constexpr std::int64_t kRefusedNanos = 100'000'000;

schedule::Load LoadOf(std::int64_t cpu_nanos) {
  return {.cost = cpu_nanos, .units = cpu_nanos};
}

void NameThread(TaskKind kind, int number) {
  char name[16];
  std::snprintf(name, sizeof(name), "forebay-%s-%d",
                kind == kShort ? "cpu" : "long", number);
  pthread_setname_np(pthread_self(), name);
}

}  // namespace

ThreadPoolExecutor::ThreadPoolExecutor(int cpus,
                                       const ThreadPoolExecutorOptions& options)
    : cpus_(cpus),
      options_(options),
      places_(cpus),
      added_nanos_(static_cast<std::size_t>(PlacesFor(cpus)), 0),
      alarm_(
          "forebay-cpu-cap", [this] { Supervise(); }, options.clock) {
  base::PrepareToStartThreads();
  base::MutexLock lock(&mutex_);
  queue_.SetLimit(options.max_cpus * kNanosPerSecond, Now());
  StartThreadsLocked();
}

ThreadPoolExecutor::~ThreadPoolExecutor() { Stop(); }

void ThreadPoolExecutor::Stop() {
  std::list<Thread> threads;
  {
    base::MutexLock lock(&mutex_);
    ending_ = true;
    queue_.LiftCaps();
    threads.swap(threads_);
  }
  for (base::CondVar& each : task_or_end_) each.NotifyAll();
  for (Thread& each : threads) each.thread.join();
  // The threads have ended. Waiting tasks are destroyed without the lock,
  // because their destructors may call this executor.
  for (;;) {
    std::optional<Queue::Popped> dropped;
    base::MutexLock lock(&mutex_);
    dropped = queue_.Pop(Now());
    if (!dropped.has_value()) return;
    queue_.Complete(dropped->id, {}, Now());
  }
}

void ThreadPoolExecutor::SubmitFor(absl::Span<const schedule::Flow> flows,
                                   const Demand& demand, Task task) {
  TaskKind kind = demand.is_long() ? kLong : kShort;
  {
    base::MutexLock lock(&mutex_);
    if (ending_) return;
    // If the system refused every thread of this kind, the other kind's threads
    // must do the task.
    if (groups_[kind].threads == 0) kind = kind == kShort ? kLong : kShort;
    FlowSet set = FlowSetOf(flows);
    if (kind == kShort) short_tasks_.Add(set);
    queue_.PushFor(flows, LoadOf(demand.cpu_nanos), demand.urgency,
                   {std::move(task), kind, std::move(set)});
    ++groups_[kind].waiting;
    if (!WantsThreadNowLocked(kind)) return;
  }
  task_or_end_[kind].NotifyOne();
}

void ThreadPoolExecutor::SetWeight(schedule::Flow flow, double weight) {
  base::MutexLock lock(&mutex_);
  queue_.SetWeight(flow, weight);
}

void ThreadPoolExecutor::SetCap(schedule::Flow flow, double cpus) {
  base::MutexLock lock(&mutex_);
  if (!ending_) queue_.SetCap(flow, cpus * kNanosPerSecond, Now());
  CapsChangedLocked();
}

void ThreadPoolExecutor::Forget(schedule::Flow flow) {
  base::MutexLock lock(&mutex_);
  queue_.Forget(flow);
  CapsChangedLocked();
}

std::size_t ThreadPoolExecutor::queued() const {
  base::MutexLock lock(&mutex_);
  return queue_.size();
}

int ThreadPoolExecutor::busy() const {
  base::MutexLock lock(&mutex_);
  return std::min(cpus_, static_cast<int>(places_.running()));
}

// --- Waking threads.

bool ThreadPoolExecutor::WantsThreadLocked(TaskKind kind) {
  Group& group = groups_[kind];
  if (static_cast<std::size_t>(group.waking) >= group.waiting) return false;
  if (group.waking < group.asleep) return true;
  // Every thread of the kind is busy. The supervisor looks for overruns only if
  // a task of one flow may wait behind a task of another flow.
  if (kind == kShort && look_at_nanos_ == INT64_MAX &&
      short_tasks_.MixFlows()) {
    look_at_nanos_ = Now() + kOverrunNanos;
    SuperviseByLocked(look_at_nanos_);
  }
  return false;
}

bool ThreadPoolExecutor::WantsThreadNowLocked(TaskKind kind) {
  if (!WantsThreadLocked(kind) || !places_.HasPlace(kind) ||
      !queue_.HasNext(Now(), ChooserFor(kind)))
    return false;
  ++groups_[kind].waking;
  return true;
}

ThreadPoolExecutor::Wanted ThreadPoolExecutor::WantedLocked() {
  return {WantsThreadNowLocked(kShort), WantsThreadNowLocked(kLong)};
}

void ThreadPoolExecutor::Wake(const Wanted& wanted) {
  for (const TaskKind kind : {kShort, kLong}) {
    if (wanted[kind]) task_or_end_[kind].NotifyOne();
  }
}

// Threads are notified without asking HasNext, which reflects the caps and the
// limit only after the next Pop.
void ThreadPoolExecutor::CapsChangedLocked() {
  for (const TaskKind kind : {kShort, kLong}) {
    if (!WantsThreadLocked(kind)) continue;
    ++groups_[kind].waking;
    task_or_end_[kind].NotifyOne();
  }
}

// --- Running tasks.

void ThreadPoolExecutor::Work(Thread* self) {
  std::int64_t begin = options_.cpu_clock->OfCaller();
  mutex_.Lock();
  self->id = gettid();
  NameThread(self->kind, self->number);
  if (self->kind == kLong) LengthenSlices(self->id);
  while (!ending_ && !IsSurplusLocked(*self)) {
    std::optional<Queue::Popped> next = TakeLocked(self, begin);
    const Wanted wanted = WantedLocked();
    if (!next.has_value()) {
      Wake(wanted);
      Group& group = groups_[self->kind];
      ++group.asleep;
      task_or_end_[self->kind].Wait(&mutex_);
      --group.asleep;
      // A spurious wake-up counts as a notified one, which does no harm.
      if (group.waking > 0) --group.waking;
      continue;
    }
    const int place = self->place;
    mutex_.Unlock();
    Wake(wanted);
    next->item.task(place);
    // The task's captures are freed here, without the lock.
    next->item.task = nullptr;
    const std::int64_t end = options_.cpu_clock->OfCaller();
    const std::int64_t added =
        std::exchange(added_nanos_[static_cast<std::size_t>(place)], 0);
    mutex_.Lock();
    CompleteLocked(self, next->id, end - begin + added);
    begin = end;
  }
  LeaveLocked(self);
  mutex_.Unlock();
}

std::optional<ThreadPoolExecutor::Queue::Popped> ThreadPoolExecutor::TakeLocked(
    Thread* self, std::int64_t cpu_nanos) {
  if (!places_.HasPlace(self->kind)) return std::nullopt;
  const std::int64_t now = Now();
  auto next = queue_.Pop(now, ChooserFor(self->kind));
  SuperviseByLocked(queue_.NextAt());
  if (!next.has_value()) return next;
  --groups_[self->kind].waiting;
  self->place = places_.Take(self->kind);
  self->flows = next->item.flows;
  self->began_nanos = now;
  self->began_cpu_nanos = cpu_nanos;
  LowerPrioritiesLocked(now);
  return next;
}

void ThreadPoolExecutor::CompleteLocked(Thread* self, Queue::Id task,
                                        std::int64_t cpu_nanos) {
  queue_.Complete(task, LoadOf(cpu_nanos), Now());
  if (self->kind == kShort) short_tasks_.Remove(self->flows);
  places_.GiveBack(self->place);
  self->place = -1;
}

// --- Priorities.

void ThreadPoolExecutor::LowerPrioritiesLocked(std::int64_t now_nanos) {
  if (places_.running(kShort) == 0 || places_.running() <= std::size_t(cpus_))
    return;
  contended_at_nanos_ = now_nanos;
  for (Thread& each : threads_) {
    if (each.kind == kLong && each.place >= 0 && !each.has_low_priority)
      Lower(&each);
  }
}

void ThreadPoolExecutor::Lower(Thread* thread) const {
  options_.lower_priority(thread->id);
  thread->has_low_priority = true;
}

bool ThreadPoolExecutor::IsSurplusLocked(const Thread& thread) const {
  return thread.has_low_priority && (groups_[kLong].threads > cpus_ ||
                                     Now() - contended_at_nanos_ > kCalmNanos);
}

void ThreadPoolExecutor::LeaveLocked(Thread* self) {
  self->ended = true;
  --groups_[self->kind].threads;
  if (ending_) return;
  // This thread may have been notified for a task; another must take it.
  Wake(WantedLocked());
  SuperviseByLocked(Now());
}

// --- The supervising thread. New threads inherit the priority of the thread
// that starts them, so the supervising thread keeps the usual priority.

void ThreadPoolExecutor::SuperviseByLocked(std::int64_t at_nanos) {
  if (at_nanos >= supervise_at_nanos_) return;
  supervise_at_nanos_ = at_nanos;
  alarm_.SetFor(at_nanos);
}

void ThreadPoolExecutor::Supervise() {
  std::list<Thread> ended;
  {
    base::MutexLock lock(&mutex_);
    supervise_at_nanos_ = INT64_MAX;
    if (ending_) return;
    const std::int64_t now = Now();
    if (look_at_nanos_ <= now) FindLongTasksLocked(now);
    SuperviseByLocked(look_at_nanos_);
    if (queue_.NextAt() > now) SuperviseByLocked(queue_.NextAt());
    for (auto each = threads_.begin(); each != threads_.end();) {
      const auto next = std::next(each);
      if (each->ended) ended.splice(ended.end(), threads_, each);
      each = next;
    }
    StartThreadsLocked();
    CapsChangedLocked();
  }
  for (Thread& each : ended) each.thread.join();
}

void ThreadPoolExecutor::FindLongTasksLocked(std::int64_t now_nanos) {
  look_at_nanos_ = INT64_MAX;
  if (!short_tasks_.MixFlows() || places_.HasPlace(kShort) ||
      !queue_.HasNext(now_nanos, ChooserFor(kShort)))
    return;
  for (Thread& each : threads_) {
    if (each.kind != kShort || each.place < 0) continue;
    std::int64_t left = each.began_nanos + kOverrunNanos - now_nanos;
    // A task's CPU time never exceeds its age, so the system call that reads
    // CPU time is made only for a task that is old enough.
    if (left <= 0) {
      left = each.began_cpu_nanos + kOverrunNanos -
             options_.cpu_clock->Of(each.thread.native_handle());
    }
    if (left <= 0 && places_.HasPlaceForLonger() &&
        HoldsUpOthersLocked(each.flows, now_nanos)) {
      MakeLongLocked(&each, now_nanos);
    } else {
      if (left <= 0) left = kOverrunNanos;
      look_at_nanos_ = std::min(look_at_nanos_, now_nanos + left);
    }
  }
}

bool ThreadPoolExecutor::HoldsUpOthersLocked(const FlowSet& flows,
                                             std::int64_t now_nanos) {
  return queue_.HasNext(now_nanos, [&](const Item& item) {
    return item.kind == kShort && HasOther(item.flows, flows)
               ? schedule::Turn::kTake
               : schedule::Turn::kPass;
  });
}

void ThreadPoolExecutor::MakeLongLocked(Thread* thread,
                                        std::int64_t now_nanos) {
  short_tasks_.Remove(thread->flows);
  places_.MakeLong(thread->place);
  --groups_[kShort].threads;
  ++groups_[kLong].threads;
  thread->kind = kLong;
  contended_at_nanos_ = now_nanos;
  LengthenSlices(thread->id);
  Lower(thread);
}

void ThreadPoolExecutor::StartThreadsLocked() {
  for (int wanted = 1; wanted <= cpus_; ++wanted) {
    for (const TaskKind kind : {kShort, kLong}) {
      if (groups_[kind].threads >= wanted || StartThreadLocked(kind)) continue;
      if (!std::exchange(refused_, true)) {
        spdlog::warn(
            "the system gives no more threads for CPU tasks: {} short and {} "
            "long ones run at once instead of {}; see the limits of the "
            "service and of its container",
            groups_[kShort].threads, groups_[kLong].threads, cpus_);
      }
      SuperviseByLocked(Now() + kRefusedNanos);
      return;
    }
  }
  refused_ = false;
}

bool ThreadPoolExecutor::StartThreadLocked(TaskKind kind) {
  int number = 0;
  const auto has_number = [&](const Thread& each) {
    return each.kind == kind && each.number == number;
  };
  while (std::any_of(threads_.begin(), threads_.end(), has_number)) ++number;
  Thread& thread = threads_.emplace_back();
  thread.kind = kind;
  thread.number = number;
  try {
    thread.thread = std::thread([this, self = &thread] { Work(self); });
  } catch (const std::system_error&) {
    threads_.pop_back();
    return false;
  }
  ++groups_[kind].threads;
  return true;
}

}  // namespace forebay::executor

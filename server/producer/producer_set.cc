#include "server/producer/producer_set.h"

#include <algorithm>

#include "server/base/check.h"
#include "server/base/status.h"
#include "server/producer/dismissal.h"
#include "server/producer/process.h"
#include "spdlog/spdlog.h"

namespace forebay::producer {
namespace {

// Looks are at least so far apart.
constexpr std::int64_t kLookNanos = 500'000'000;
// While a task has had no answer for so long, the host is asked whether it
// answers.
constexpr std::int64_t kPingNanos = 300'000'000;
// A host that has not worked on a fork for so long may be paused: tasks wait
// for its forks no longer than for other producers.
constexpr std::int64_t kLongForkNanos = 200'000'000;

absl::Status NoHost() {
  return absl::FailedPreconditionError(
      "no process was started that runs the dataset's code");
}

}  // namespace

std::shared_ptr<ProducerSet> ProducerSet::Create(
    std::vector<std::uint64_t> offsets, std::string name, const Deps& deps) {
  return std::shared_ptr<ProducerSet>(
      new ProducerSet(std::move(offsets), std::move(name), deps));
}

ProducerSet::ProducerSet(std::vector<std::uint64_t> offsets, std::string name,
                         const Deps& deps)
    : offsets_(std::move(offsets)),
      deps_(deps),
      group_(std::make_shared<MemoryGroup>(std::move(name))) {}

absl::StatusOr<base::Fd> ProducerSet::Start(std::uint32_t most,
                                            const std::string& owner) {
  FOREBAY_CHECK(most > 0 && most <= proto::kMaxProducers);
  FOREBAY_ASSIGN_OR_RETURN(TaskSocket::Pair pair, TaskSocket::Create());
  base::MutexLock lock(&mutex_);
  if (host_ != nullptr || ended_)
    return absl::FailedPreconditionError(refusal_);
  refusal_ = owner + " has started the workers that make these samples";
  host_ = Host::Create(std::move(pair.ours), deps_.waiter, deps_.clock,
                       [weak = weak_from_this()] {
                         if (const auto self = weak.lock()) self->End();
                       });
  most_ = most;
  return std::move(pair.theirs);
}

std::uint32_t ProducerSet::most() const {
  base::MutexLock lock(&mutex_);
  return std::min(most_, group_->most());
}

absl::Status ProducerSet::CheckHost() const {
  base::MutexLock lock(&mutex_);
  if (ended_) return HostGone();
  return host_ == nullptr ? NoHost() : absl::OkStatus();
}

// --- Slots.

void ProducerSet::Share(Region region, Shared done) {
  const auto* const offsets =
      reinterpret_cast<const std::uint8_t*>(offsets_.data());
  Host::Order order;
  order.task = {.command = proto::ProducerCommand::kMapSlot,
                .slot = 0,
                .bytes = region.bytes,
                .epoch = 0,
                .count = static_cast<std::uint32_t>(offsets_.size()),
                .reserved = 0};
  order.behind.assign(offsets,
                      offsets + offsets_.size() * sizeof(std::uint64_t));
  order.fd = region.fd;
  order.mapping =
      std::make_shared<Mapping>(Mapping{.kept = std::move(region.kept)});
  base::MutexLock lock(&mutex_);
  if (host_ == nullptr) {
    deps_.waiter->Post([done = std::move(done)] { done(NoHost()); });
    return;
  }
  order.task.slot = ++last_slot_;
  order.done = [weak = weak_from_this(), data = region.data,
                slot = order.task.slot, mapping = order.mapping,
                done = std::move(done)](absl::StatusOr<Host::Done> mapped) {
    const auto self = weak.lock();
    if (!mapped.ok() || self == nullptr) {
      done(mapped.ok() ? HostGone() : mapped.status());
      return;
    }
    self->OnMapped(data, slot, mapping);
    done(SharedSlot(static_cast<const void*>(data), [self](const void* shared) {
      self->Unmap(static_cast<const std::uint8_t*>(shared));
    }));
  };
  host_->Send(std::move(order));
}

void ProducerSet::OnMapped(const std::uint8_t* data, std::uint32_t slot,
                           const std::shared_ptr<Mapping>& mapping) {
  base::MutexLock lock(&mutex_);
  slots_[data] = {.number = slot, .mapping = mapping};
  ++generation_;
}

void ProducerSet::Unmap(const std::uint8_t* data) {
  base::MutexLock lock(&mutex_);
  const auto found = slots_.find(data);
  if (found == slots_.end()) return;
  Host::Order order;
  order.task.command = proto::ProducerCommand::kUnmapSlot;
  order.task.slot = found->second.number;
  slots_.erase(found);  // the host has a share of the mapping
  ++generation_;
  DismissOutdatedLocked();
  if (!ended_) host_->Send(std::move(order));
}

std::optional<std::uint32_t> ProducerSet::SlotAt(
    const std::uint8_t* data) const {
  base::MutexLock lock(&mutex_);
  const auto found = slots_.find(data);
  if (found == slots_.end()) return std::nullopt;
  return found->second.number;
}

// --- Producers.

absl::StatusOr<ProducerPtr> ProducerSet::Take(
    std::optional<std::uint32_t> number, Taken later) {
  base::MutexLock lock(&mutex_);
  if (ended_) return HostGone();
  if (host_ == nullptr) return NoHost();
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

absl::Status ProducerSet::ForkForWaitingLocked() {
  for (const std::uint32_t number : waiting_.Numbers()) {
    if (!numbers_.contains(number)) FOREBAY_RETURN_IF_ERROR(ForkLocked(number));
  }
  while (forking_.size() < waiting_.WantAny())
    FOREBAY_RETURN_IF_ERROR(ForkLocked(FreeNumberLocked()));
  return absl::OkStatus();
}

absl::Status ProducerSet::ForkLocked(std::uint32_t number) {
  FOREBAY_ASSIGN_OR_RETURN(TaskSocket::Pair pair, TaskSocket::Create());
  Host::Order order;
  order.task.command = proto::ProducerCommand::kFork;
  order.task.slot = number;
  order.own_fd = std::move(pair.theirs);
  // A function must be copyable.
  order.done = [weak = weak_from_this(), number,
                socket = std::make_shared<TaskSocket>(std::move(pair.ours))](
                   absl::StatusOr<Host::Done> forked) {
    if (const auto self = weak.lock())
      self->OnForked(number, std::move(*socket), std::move(forked));
  };
  numbers_.insert(number);
  forking_.insert(number);
  host_->Send(std::move(order));
  return absl::OkStatus();
}

void ProducerSet::OnForked(std::uint32_t number, TaskSocket socket,
                           absl::StatusOr<Host::Done> done) {
  std::shared_ptr<const LimitedProducer> limited;
  if (done.ok()) limited = Limit(std::move(done->answer));
  Calls calls;
  {
    base::MutexLock lock(&mutex_);
    forking_.erase(number);
    if (done.ok() && !ended_) {
      // The host has mapped all slots of now, and perhaps others that went.
      const bool is_current = done->mapped.size() == slots_.size();
      GiveLocked(std::make_shared<Producer>(
                     std::move(socket), number, is_current ? generation_ : 0,
                     std::move(done->mapped), std::move(limited)),
                 &calls);
      // The producer may keep slots mapped that went meanwhile.
      DismissOutdatedLocked();
    } else {
      numbers_.erase(number);
      if (Taken taken = waiting_.TakeFor(number)) {
        calls.emplace_back(std::move(taken),
                           done.ok() ? HostGone() : done.status());
      }
      ReplaceLocked(&calls);
    }
  }
  Call(&calls);
}

std::shared_ptr<const LimitedProducer> ProducerSet::Limit(Answer forked) const {
  if (deps_.memory == nullptr) return nullptr;
  auto process = OpenProcess(std::move(forked.fd), forked.sender);
  return process == nullptr ? nullptr
                            : deps_.memory->Add(group_, std::move(process));
}

void ProducerSet::GiveBack(const ProducerPtr& producer, bool alive) {
  Calls calls;
  {
    base::MutexLock lock(&mutex_);
    taken_.erase(producer.get());
    producer->asked_at_nanos_ = Producer::kNoTask;
    if (alive) answered_at_nanos_ = deps_.clock->NowNanos();
    if (!alive || ended_ || producer->generation_ != generation_) {
      numbers_.erase(producer->number_);
      if (alive || ended_) Dismiss(producer, deps_.waiter);
      ReplaceLocked(&calls);
    } else if (AwaitsForksLocked()) {
      idle_.push_back(producer);
    } else {
      GiveLocked(producer, &calls);
    }
  }
  Call(&calls);
}

void ProducerSet::GiveLocked(ProducerPtr producer, Calls* calls) {
  Taken taken = waiting_.TakeFor(producer->number_);
  if (taken == nullptr) {
    idle_.push_back(std::move(producer));
    return;
  }
  taken_[producer.get()] = producer;
  calls->emplace_back(std::move(taken), std::move(producer));
}

void ProducerSet::ReplaceLocked(Calls* calls) {
  if (ended_) return;
  const absl::Status forks = ForkForWaitingLocked();
  if (!forks.ok()) waiting_.FailAll(forks, calls);
}

void ProducerSet::Call(Calls* calls) {
  for (auto& [taken, producer] : *calls) taken(std::move(producer));
}

void ProducerSet::DismissOutdatedLocked() {
  const auto is_outdated = [&](const ProducerPtr& producer)
                               ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                                 return producer->generation_ != generation_ ||
                                        producer->overrun().has_value();
                               };
  const auto kept =
      std::stable_partition(idle_.begin(), idle_.end(), is_outdated);
  for (auto producer = idle_.begin(); producer != kept; ++producer) {
    numbers_.erase((*producer)->number_);
    Dismiss(std::move(*producer), deps_.waiter);
  }
  idle_.erase(idle_.begin(), kept);
}

ProducerPtr ProducerSet::TakeIdleLocked(std::optional<std::uint32_t> number) {
  for (;;) {
    const auto found =
        std::find_if(idle_.begin(), idle_.end(), [&](const auto& producer) {
          return !number.has_value() || producer->number_ == *number;
        });
    if (found == idle_.end()) return nullptr;
    ProducerPtr producer = std::move(*found);
    idle_.erase(found);
    if (!producer->HasLeft()) {
      taken_[producer.get()] = producer;
      return producer;
    }
    numbers_.erase(producer->number_);
    Dismiss(std::move(producer), deps_.waiter);
  }
}

bool ProducerSet::AwaitsForksLocked() const {
  return !deps_.makes_parts && host_->SilentNanos() < kLongForkNanos &&
         waiting_.Numbers().empty() && waiting_.WantAny() <= forking_.size();
}

void ProducerSet::GiveIdleLocked(Calls* calls) {
  if (waiting_.WantAny() == 0 || AwaitsForksLocked()) return;
  DismissOutdatedLocked();
  while (waiting_.WantAny() > 0) {
    ProducerPtr idle = TakeIdleLocked(std::nullopt);
    if (idle == nullptr) return;
    GiveLocked(std::move(idle), calls);
  }
}

std::uint32_t ProducerSet::FreeNumberLocked() const {
  std::uint32_t number = 0;
  while (numbers_.contains(number)) ++number;
  return number;
}

// --- Processes that do not answer.

void ProducerSet::Look(const Need& need) {
  Calls calls;
  {
    base::MutexLock lock(&mutex_);
    LookLocked(need, &calls);
  }
  Call(&calls);
}

void ProducerSet::LookLocked(const Need& need, Calls* calls) {
  const std::int64_t now = deps_.clock->NowNanos();
  if (ended_ || host_ == nullptr ||
      (looked_at_nanos_.has_value() && now - *looked_at_nanos_ < kLookNanos))
    return;
  looked_at_nanos_ = now;
  host_->Look();
  const StallContext context = {
      .now_nanos = now,
      .is_awaited = need.is_awaited,
      .host_answered_at_nanos = host_->answered_at_nanos(),
      .producer_answered_at_nanos = answered_at_nanos_,
      .task_nanos = need.task_nanos};
  if (LookAtProducersLocked(need, context)) host_->Ping();
  GiveIdleLocked(calls);
}

bool ProducerSet::LookAtProducersLocked(const Need& need,
                                        const StallContext& context) {
  bool has_suspects = false;
  for (const auto& [address, weak] : taken_) {
    const ProducerPtr producer = weak.lock();
    if (producer == nullptr) continue;
    const std::int64_t asked_at_nanos = producer->asked_at_nanos_;
    if (asked_at_nanos == Producer::kNoTask ||
        context.now_nanos - asked_at_nanos < kPingNanos)
      continue;
    has_suspects = true;
    const auto seen = producer->Look(context.now_nanos);
    if (!seen.has_value() || !need.may_retry || producer->stall().has_value())
      continue;
    const std::optional<Stall> stall = FindStall(*seen, context);
    if (stall.has_value() && producer->Kill(*stall)) Log(*producer, *stall);
  }
  return has_suspects;
}

void ProducerSet::Log(const Producer& producer, Stall stall) const {
  spdlog::warn(
      "{}: worker process {} {}, and was killed: another makes its samples",
      group_->name(), producer.process()->pid(),
      stall == Stall::kStopped ? "was stopped by a signal"
                               : "has slept over a task for long");
}

std::int64_t ProducerSet::SilentNanos() const {
  base::MutexLock lock(&mutex_);
  return ended_ || host_ == nullptr ? 0 : host_->SilentNanos();
}

// --- The end.

bool ProducerSet::ended() const {
  base::MutexLock lock(&mutex_);
  return ended_;
}

void ProducerSet::End() {
  base::MutexLock lock(&mutex_);
  if (ended_) return;
  ended_ = true;
  for (ProducerPtr& producer : idle_)
    Dismiss(std::move(producer), deps_.waiter);
  idle_.clear();
  for (const auto& [address, taken] : taken_) {
    if (const auto producer = taken.lock()) producer->socket.End();
  }
  if (host_ != nullptr) host_->End();
  if (waiting_.empty()) return;
  // The caller may hold locks that these take.
  const auto failed = std::make_shared<Calls>();
  waiting_.FailAll(HostGone(), failed.get());
  deps_.waiter->Post([failed] { Call(failed.get()); });
}

}  // namespace forebay::producer

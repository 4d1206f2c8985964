#include "server/producer/producer_set.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "server/base/check.h"
#include "server/base/status.h"
#include "server/producer/process.h"

namespace forebay::producer {
namespace {

// A host forks, maps, and does nothing else. A process of many gigabytes takes
// tenths of a second to fork.
constexpr int kHostMilliseconds = 10'000;

absl::Status NoHost() {
  return absl::FailedPreconditionError(
      "no process was started that runs the dataset's code");
}

absl::Status HostGone() {
  return absl::UnavailableError(
      "the process that runs the dataset's code is gone");
}

}  // namespace

absl::StatusOr<base::Fd> ProducerSet::Start(std::uint32_t most) {
  FOREBAY_CHECK(most > 0 && most <= proto::kMaxProducers);
  FOREBAY_ASSIGN_OR_RETURN(TaskSocket::Pair pair, TaskSocket::Create());
  base::MutexLock lock(&mutex_);
  if (host_ != nullptr || ended_) {
    return absl::FailedPreconditionError(
        "a process that runs the dataset's code was started before");
  }
  host_ = std::make_shared<TaskSocket>(std::move(pair.ours));
  most_ = most;
  return std::move(pair.theirs);
}

std::uint32_t ProducerSet::most() const {
  base::MutexLock lock(&mutex_);
  return std::min(most_, group_->most());
}

absl::StatusOr<Answer> ProducerSet::Command(
    const proto::ProducerTask& task, absl::Span<const std::uint8_t> behind,
    int fd) {
  base::MutexLock commands(&commands_);
  std::shared_ptr<TaskSocket> host;
  {
    base::MutexLock lock(&mutex_);
    if (host_ == nullptr) return NoHost();
    if (ended_) return HostGone();
    host = host_;
  }
  absl::Status status = host->Ask(task, behind, fd);
  if (status.ok()) {
    auto answer = host->Await(kHostMilliseconds);
    if (answer.ok() && answer->failures.empty()) return answer;
    if (answer.ok())
      return absl::ResourceExhaustedError(answer->failures.front().text);
  }
  // An answer that comes later would be taken for that to the next command.
  host->End();
  base::MutexLock lock(&mutex_);
  ended_ = true;
  return HostGone();
}

absl::StatusOr<SharedSlot> ProducerSet::Share(
    const std::shared_ptr<ProducerSet>& producers, int fd,
    const std::uint8_t* data, std::uint64_t bytes) {
  FOREBAY_RETURN_IF_ERROR(producers->Map(fd, data, bytes));
  const auto unmap = [producers](const void* shared) {
    producers->Unmap(static_cast<const std::uint8_t*>(shared));
  };
  return SharedSlot(static_cast<const void*>(data), unmap);
}

absl::Status ProducerSet::Map(int fd, const std::uint8_t* data,
                              std::uint64_t bytes) {
  std::uint32_t slot;
  {
    base::MutexLock lock(&mutex_);
    slot = ++last_slot_;
  }
  const auto* const offsets =
      reinterpret_cast<const std::uint8_t*>(offsets_.data());
  FOREBAY_RETURN_IF_ERROR(
      Command({.command = proto::ProducerCommand::kMapSlot,
               .slot = slot,
               .bytes = bytes,
               .epoch = 0,
               .count = static_cast<std::uint32_t>(offsets_.size()),
               .reserved = 0},
              {offsets, offsets_.size() * sizeof(std::uint64_t)}, fd)
          .status());
  base::MutexLock lock(&mutex_);
  slots_[data] = slot;
  ++generation_;
  return absl::OkStatus();
}

void ProducerSet::Unmap(const std::uint8_t* data) {
  std::vector<std::shared_ptr<Producer>> outdated;  // they keep its memory
  std::uint32_t slot;
  {
    base::MutexLock lock(&mutex_);
    const auto found = slots_.find(data);
    if (found == slots_.end()) return;
    slot = found->second;
    slots_.erase(found);
    ++generation_;
    outdated = TakeOutdatedLocked();
    if (ended_) return;
  }
  Command({.command = proto::ProducerCommand::kUnmapSlot,
           .slot = slot,
           .bytes = 0,
           .epoch = 0,
           .count = 0,
           .reserved = 0},
          {}, -1)
      .status()
      .IgnoreError();
}

std::optional<std::uint32_t> ProducerSet::SlotAt(
    const std::uint8_t* data) const {
  base::MutexLock lock(&mutex_);
  const auto found = slots_.find(data);
  if (found == slots_.end()) return std::nullopt;
  return found->second;
}

absl::StatusOr<std::shared_ptr<Producer>> ProducerSet::Take(
    std::optional<std::uint32_t> wanted) {
  std::vector<std::shared_ptr<Producer>> outdated;  // closed without the mutex
  std::uint32_t number;
  std::uint64_t generation;
  {
    base::MutexLock lock(&mutex_);
    if (ended_) return HostGone();
    outdated = TakeOutdatedLocked();
    auto idle = TakeIdleLocked(wanted);
    if (idle != nullptr) return idle;
    number = wanted.has_value() ? *wanted : FreeNumberLocked();
    FOREBAY_CHECK(!wanted.has_value() || numbers_.insert(number).second);
    generation = generation_;
  }
  auto forked = Fork(number, generation);
  base::MutexLock lock(&mutex_);
  if (forked.ok() && !ended_) {
    taken_[forked->get()] = *forked;
    return forked;
  }
  numbers_.erase(number);
  return forked.ok() ? HostGone() : forked.status();
}

std::vector<std::shared_ptr<Producer>> ProducerSet::TakeOutdatedLocked() {
  const auto is_outdated = [&](const std::shared_ptr<Producer>& producer)
                               ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                                 return producer->generation != generation_ ||
                                        producer->overrun().has_value();
                               };
  const auto kept =
      std::stable_partition(idle_.begin(), idle_.end(), is_outdated);
  std::vector<std::shared_ptr<Producer>> outdated(
      std::make_move_iterator(idle_.begin()), std::make_move_iterator(kept));
  idle_.erase(idle_.begin(), kept);
  for (const auto& producer : outdated) numbers_.erase(producer->number);
  return outdated;
}

std::shared_ptr<Producer> ProducerSet::TakeIdleLocked(
    std::optional<std::uint32_t> number) {
  const auto found =
      std::find_if(idle_.rbegin(), idle_.rend(), [&](const auto& producer) {
        return !number.has_value() || producer->number == *number;
      });
  if (found == idle_.rend()) return nullptr;
  std::shared_ptr<Producer> producer = std::move(*found);
  idle_.erase(std::next(found).base());
  taken_[producer.get()] = producer;
  return producer;
}

std::uint32_t ProducerSet::FreeNumberLocked() {
  std::uint32_t number = 0;
  while (numbers_.contains(number)) ++number;
  numbers_.insert(number);
  return number;
}

absl::StatusOr<std::shared_ptr<Producer>> ProducerSet::Fork(
    std::uint32_t number, std::uint64_t generation) {
  FOREBAY_ASSIGN_OR_RETURN(TaskSocket::Pair pair, TaskSocket::Create());
  FOREBAY_ASSIGN_OR_RETURN(Answer forked,
                           Command({.command = proto::ProducerCommand::kFork,
                                    .slot = number,
                                    .bytes = 0,
                                    .epoch = 0,
                                    .count = 0,
                                    .reserved = 0},
                                   {}, pair.theirs.get()));
  return std::make_shared<Producer>(
      Producer{.socket = std::move(pair.ours),
               .number = number,
               .generation = generation,
               .limited = Limit(std::move(forked))});
}

std::shared_ptr<const LimitedProducer> ProducerSet::Limit(Answer forked) const {
  if (memory_ == nullptr) return nullptr;
  auto process = OpenProcess(std::move(forked.fd), forked.sender);
  return process == nullptr ? nullptr
                            : memory_->Add(group_, std::move(process));
}

void ProducerSet::GiveBack(std::shared_ptr<Producer> producer, bool alive) {
  base::MutexLock lock(&mutex_);
  taken_.erase(producer.get());
  if (alive && !ended_ && producer->generation == generation_) {
    idle_.push_back(std::move(producer));
  } else {
    numbers_.erase(producer->number);
  }
}

bool ProducerSet::ended() const {
  base::MutexLock lock(&mutex_);
  return ended_;
}

void ProducerSet::End() {
  std::vector<std::shared_ptr<Producer>> idle;
  base::MutexLock lock(&mutex_);
  ended_ = true;
  idle = std::move(idle_);
  idle_.clear();
  if (host_ != nullptr) host_->End();
  for (const auto& [address, taken] : taken_) {
    if (const auto producer = taken.lock()) producer->socket.End();
  }
}

}  // namespace forebay::producer

#include "server/worker/memory_limiter.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

namespace forebay::worker {
namespace {

constexpr std::int64_t kMilli = 1'000'000;
constexpr std::int64_t kSecond = 1000 * kMilli;
// The shortest and the longest time between two checks.
constexpr std::int64_t kSoonest = 10 * kMilli;
constexpr std::int64_t kLatest = kSecond;
// The speed at which a worker may take memory: the kernel clears pages for one
// process at about 4 bytes a nanosecond (4 GB/s).
constexpr std::uint64_t kBytesPerNano = 4;
// After a measurement, a worker is not measured again for this many times as
// long as the measurement took.
constexpr std::int64_t kMeasuringPart = 100;
// The time after which `most_` of a group is raised by one.
constexpr std::int64_t kRaiseNanos = 10 * kSecond;
// The least time between two log lines about ended workers of one group.
constexpr std::int64_t kLogNanos = 10 * kSecond;

std::uint64_t Mib(std::uint64_t bytes) { return bytes >> 20; }

}  // namespace

std::optional<Overrun> LimitedWorker::overrun() const {
  base::MutexLock lock(&mutex_);
  return overrun_;
}

void LimitedWorker::End(const Overrun& overrun) {
  {
    base::MutexLock lock(&mutex_);
    // The reason is set before anybody can notice that the process is gone.
    overrun_ = overrun;
  }
  ended_ = true;
  process_->Kill();
}

std::shared_ptr<const LimitedWorker> MemoryLimiter::Add(
    std::shared_ptr<MemoryGroup> group, std::unique_ptr<Process> process) {
  const auto worker =
      std::make_shared<LimitedWorker>(std::move(group), std::move(process));
  worker->anonymous_at_measuring_ =
      worker->process_->AnonymousBytes().value_or(0);
  worker->measure_again_at_nanos_ = clock_->NowNanos() + kSecond;
  base::MutexLock lock(&mutex_);
  workers_.push_back(worker);
  return worker;
}

std::optional<std::int64_t> MemoryLimiter::Check() {
  Workers workers;
  {
    base::MutexLock lock(&mutex_);
    workers = workers_;
  }
  const std::size_t counted = workers.size();
  if (Look(workers) > limit_) Measure(workers);
  const std::uint64_t ended = EndLargest(workers);
  Raise(workers);
  std::uint64_t used = 0;
  for (const auto& worker : workers) used += worker->own_;
  base::MutexLock lock(&mutex_);
  // Add appends workers, so those behind the first `counted` were added
  // meanwhile.
  std::move(workers_.begin() + static_cast<std::ptrdiff_t>(counted),
            workers_.end(), std::back_inserter(workers));
  workers_ = std::move(workers);
  used_ = used;
  ended_ += ended;
  if (workers_.empty()) return std::nullopt;
  const std::uint64_t left = limit_ - std::min(used, limit_);
  return std::clamp(
      static_cast<std::int64_t>(left / (kBytesPerNano * workers_.size())),
      kSoonest, kLatest);
}

std::uint64_t MemoryLimiter::Look(Workers& workers) const {
  std::uint64_t all = 0;
  std::erase_if(workers, [&](const std::shared_ptr<LimitedWorker>& one) {
    const auto anonymous = one->process_->AnonymousBytes();
    if (!anonymous.has_value()) return true;
    one->anonymous_ = *anonymous;
    // The estimate is the last measurement plus the growth since then. The
    // subtraction stops at 0, because memory may also shrink.
    const std::uint64_t grown = one->measured_own_ + *anonymous;
    one->own_ = std::min(*anonymous,
                         grown - std::min(grown, one->anonymous_at_measuring_));
    all += *anonymous;
    return false;
  });
  return all;
}

void MemoryLimiter::Measure(const Workers& workers) const {
  const std::int64_t now = clock_->NowNanos();
  LimitedWorker* most = nullptr;
  for (const auto& one : workers) {
    if (one->ended_ || now < one->measure_again_at_nanos_) continue;
    if (most == nullptr ||
        one->anonymous_ - one->own_ > most->anonymous_ - most->own_)
      most = one.get();
  }
  if (most == nullptr) return;
  const auto own = most->process_->PrivateBytes();
  const std::int64_t after = clock_->NowNanos();
  most->measure_again_at_nanos_ =
      after + std::max(kSecond, kMeasuringPart * (after - now));
  if (!own.has_value()) return;
  most->own_ = most->measured_own_ = std::min(*own, most->anonymous_);
  most->anonymous_at_measuring_ = most->anonymous_;
}

std::uint64_t MemoryLimiter::EndLargest(const Workers& workers) const {
  std::uint64_t ended = 0;
  for (;;) {
    std::uint64_t together = 0;
    LimitedWorker* largest = nullptr;
    for (const auto& one : workers) {
      if (one->ended_) continue;
      together += one->own_;
      if (largest == nullptr || one->own_ > largest->own_) largest = one.get();
    }
    if (together <= limit_) return ended;
    const Overrun overrun = {
        .bytes = largest->own_, .together = together, .limit = limit_};
    largest->End(overrun);
    ++ended;
    const auto left =
        std::count_if(workers.begin(), workers.end(), [&](const auto& one) {
          return !one->ended_ && one->group_ == largest->group_;
        });
    MemoryGroup& group = *largest->group_;
    group.most_ = std::max(std::uint32_t{1}, static_cast<std::uint32_t>(left));
    group.raised_at_nanos_ = clock_->NowNanos();
    Log(*largest, overrun);
  }
}

void MemoryLimiter::Log(const LimitedWorker& worker,
                        const Overrun& overrun) const {
  MemoryGroup& group = *worker.group_;
  const std::int64_t now = clock_->NowNanos();
  if (group.logged_at_nanos_.has_value() &&
      now - *group.logged_at_nanos_ < kLogNanos) {
    ++group.unlogged_;
    return;
  }
  spdlog::warn(
      "{}: worker process {} had {} MiB of memory of its own, and was ended: "
      "all had {} MiB, of {} MiB (producer.memory). What it made is made "
      "again{}",
      group.name(), worker.process_->pid(), Mib(overrun.bytes),
      Mib(overrun.together), Mib(overrun.limit),
      group.unlogged_ == 0
          ? std::string()
          : absl::StrCat("; ", group.unlogged_, " more were ended before it"));
  group.logged_at_nanos_ = now;
  group.unlogged_ = 0;
}

void MemoryLimiter::Raise(const Workers& workers) const {
  const std::int64_t now = clock_->NowNanos();
  for (const auto& one : workers) {
    MemoryGroup& group = *one->group_;
    if (group.most_ == proto::kMaxWorkers ||
        now - group.raised_at_nanos_ < kRaiseNanos)
      continue;
    ++group.most_;
    group.raised_at_nanos_ = now;
  }
}

MemorySnapshot MemoryLimiter::snapshot() const {
  base::MutexLock lock(&mutex_);
  return {.limit = limit_,
          .used = used_,
          .workers = static_cast<std::uint32_t>(workers_.size()),
          .ended = ended_};
}

}  // namespace forebay::worker

#include "server/producer/memory_limiter.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

namespace forebay::producer {
namespace {

constexpr std::int64_t kMilli = 1'000'000;
constexpr std::int64_t kSecond = 1000 * kMilli;
constexpr std::int64_t kSoonest = 10 * kMilli;
constexpr std::int64_t kLatest = kSecond;
// As fast as the kernel clears pages for a process: 4 GB/s.
constexpr std::uint64_t kBytesPerNano = 4;
// Measuring takes at most this part of the time.
constexpr std::int64_t kMeasuringPart = 100;
constexpr std::int64_t kRaiseNanos = 10 * kSecond;
constexpr std::int64_t kLogNanos = 10 * kSecond;

std::uint64_t Mib(std::uint64_t bytes) { return bytes >> 20; }

}  // namespace

std::optional<Overrun> LimitedProducer::overrun() const {
  base::MutexLock lock(&mutex_);
  return overrun_;
}

void LimitedProducer::End(const Overrun& overrun) {
  {
    base::MutexLock lock(&mutex_);
    overrun_ = overrun;  // before anybody can notice that it is gone
  }
  ended_ = true;
  process_->Kill();
}

std::shared_ptr<const LimitedProducer> MemoryLimiter::Add(
    std::shared_ptr<MemoryGroup> group, std::unique_ptr<Process> process) {
  const auto producer =
      std::make_shared<LimitedProducer>(std::move(group), std::move(process));
  producer->anonymous_at_measuring_ =
      producer->process_->AnonymousBytes().value_or(0);
  producer->measure_again_at_nanos_ = clock_->NowNanos() + kSecond;
  base::MutexLock lock(&mutex_);
  producers_.push_back(producer);
  return producer;
}

std::optional<std::int64_t> MemoryLimiter::Check() {
  Producers producers;
  {
    base::MutexLock lock(&mutex_);
    producers = producers_;
  }
  const std::size_t known = producers.size();
  if (Look(producers) > limit_) Measure(producers);
  const std::uint64_t ended = EndLargest(producers);
  Raise(producers);
  std::uint64_t used = 0;
  for (const auto& producer : producers) used += producer->own_;
  base::MutexLock lock(&mutex_);
  // Others may have been added meanwhile.
  std::move(producers_.begin() + static_cast<std::ptrdiff_t>(known),
            producers_.end(), std::back_inserter(producers));
  producers_ = std::move(producers);
  used_ = used;
  ended_ += ended;
  if (producers_.empty()) return std::nullopt;
  const std::uint64_t left = limit_ - std::min(used, limit_);
  return std::clamp(
      static_cast<std::int64_t>(left / (kBytesPerNano * producers_.size())),
      kSoonest, kLatest);
}

std::uint64_t MemoryLimiter::Look(Producers& producers) const {
  std::uint64_t all = 0;
  std::erase_if(producers, [&](const std::shared_ptr<LimitedProducer>& one) {
    const auto anonymous = one->process_->AnonymousBytes();
    if (!anonymous.has_value()) return true;
    one->anonymous_ = *anonymous;
    const std::uint64_t grown = one->measured_own_ + *anonymous;
    one->own_ = std::min(*anonymous,
                         grown - std::min(grown, one->anonymous_at_measuring_));
    all += *anonymous;
    return false;
  });
  return all;
}

void MemoryLimiter::Measure(const Producers& producers) const {
  const std::int64_t now = clock_->NowNanos();
  LimitedProducer* most = nullptr;
  for (const auto& one : producers) {
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

std::uint64_t MemoryLimiter::EndLargest(const Producers& producers) const {
  std::uint64_t ended = 0;
  for (;;) {
    std::uint64_t together = 0;
    LimitedProducer* largest = nullptr;
    for (const auto& one : producers) {
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
        std::count_if(producers.begin(), producers.end(), [&](const auto& one) {
          return !one->ended_ && one->group_ == largest->group_;
        });
    MemoryGroup& group = *largest->group_;
    group.most_ = std::max(std::uint32_t{1}, static_cast<std::uint32_t>(left));
    group.raised_at_nanos_ = clock_->NowNanos();
    Log(*largest, overrun);
  }
}

void MemoryLimiter::Log(const LimitedProducer& producer,
                        const Overrun& overrun) const {
  MemoryGroup& group = *producer.group_;
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
      group.name(), producer.process_->pid(), Mib(overrun.bytes),
      Mib(overrun.together), Mib(overrun.limit),
      group.unlogged_ == 0
          ? std::string()
          : absl::StrCat("; ", group.unlogged_, " more were ended before it"));
  group.logged_at_nanos_ = now;
  group.unlogged_ = 0;
}

void MemoryLimiter::Raise(const Producers& producers) const {
  const std::int64_t now = clock_->NowNanos();
  for (const auto& one : producers) {
    MemoryGroup& group = *one->group_;
    if (group.most_ == proto::kMaxProducers ||
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
          .producers = static_cast<std::uint32_t>(producers_.size()),
          .ended = ended_};
}

}  // namespace forebay::producer

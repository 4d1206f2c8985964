#include "server/stream/epoch_next_use.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "server/cache/next_use.h"

namespace forebay::stream {
namespace {

// The time between two samples of a fast trainer, which is assumed until a
// member's pace is known. The member's samples then have the right order, and
// are not evicted too soon for others.
constexpr std::int64_t kFirstPeriodNanos = 1'000'000;

std::int64_t Times(std::uint64_t samples, std::int64_t period_nanos) {
  // The bound lies far below cache::kNever, so that lateness can be added.
  constexpr std::int64_t kFar = INT64_MAX / 4;
  return samples > static_cast<std::uint64_t>(kFar / period_nanos)
             ? kFar
             : static_cast<std::int64_t>(samples) * period_nanos;
}

}  // namespace

void EpochNextUse::Start(std::shared_ptr<const EpochPair> epochs,
                         std::uint64_t position, std::int64_t now_nanos) {
  base::MutexLock lock(&mutex_);
  progress_.epochs = std::move(epochs);
  progress_.position = position;
  progress_.step = 0;
  if (progress_.period_nanos == 0) progress_.period_nanos = kFirstPeriodNanos;
  progress_.moved_at_nanos = now_nanos;
}

void EpochNextUse::Advance(std::uint64_t position, std::int64_t period_nanos,
                           std::int64_t now_nanos) {
  base::MutexLock lock(&mutex_);
  // `position` is lower than before if a batch that was cached must be made
  // again. Samples that were requested still count as requested.
  if (position > progress_.position) {
    progress_.step = position - progress_.position;
    progress_.position = position;
  }
  if (period_nanos != INT64_MAX) {
    progress_.period_nanos = std::max<std::int64_t>(1, period_nanos);
  }
  progress_.moved_at_nanos = now_nanos;
}

void EpochNextUse::Pause() {
  base::MutexLock lock(&mutex_);
  progress_.epochs = nullptr;
}

std::int64_t EpochNextUse::NanosUntil(const Progress& progress,
                                      std::uint64_t sample) const {
  if (sample >= dataset_size_) return cache::kNever;
  const auto samples = progress.epochs->SamplesUntil(sample, progress.position);
  return samples.has_value() ? Times(*samples, progress.period_nanos)
                             : cache::kNever;
}

void EpochNextUse::Lower(std::int64_t now_nanos,
                         absl::Span<const std::uint64_t> samples,
                         absl::Span<std::int64_t> nanos) const {
  Progress progress;
  {
    base::MutexLock lock(&mutex_);
    progress = progress_;
  }
  if (progress.epochs == nullptr) return;
  // The member's pace explains the idle time that the `step` samples of the
  // last Advance take. Any further idle time is lateness, which delays every
  // use.
  const std::int64_t idle =
      std::max<std::int64_t>(0, now_nanos - progress.moved_at_nanos);
  const std::int64_t explained =
      std::min(idle, Times(progress.step, progress.period_nanos));
  const std::int64_t late = idle - explained;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::int64_t until = NanosUntil(progress, samples[i]);
    if (until == cache::kNever) continue;
    nanos[i] =
        std::min(nanos[i], std::max<std::int64_t>(0, until - explained) + late);
  }
}

}  // namespace forebay::stream

#include "server/schedule/concurrency_tuner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "server/base/check.h"

namespace forebay::schedule {
namespace {

constexpr std::int64_t kMillis = 1'000'000;
// A new limit counts as having taken effect after this time, or after two
// latencies if that is longer. Half of a round of requests was then made under
// the new limit.
constexpr std::int64_t kSettleNanos = 100 * kMillis;
// The least length of a measurement; three latencies if that is longer.
constexpr std::int64_t kWindowNanos = 300 * kMillis;
// The longest wait until as many requests are in flight as a new limit says.
constexpr std::int64_t kReachNanos = 3'000 * kMillis;
// A longer latency counts as this one: a slow source must not stop the trials.
constexpr std::int64_t kMaxLatencyNanos = 1'000 * kMillis;

// The exponent of the utility, rate / limit^kDislike. 2^0.06 is 1.04: doubling
// the limit must bring at least 4 % more.
constexpr double kDislike = 0.06;
// The least ratio of rates for which a doubled limit is doubled again.
constexpr double kRampGain = 1.1;
// The ratio between the tried and the current limit, or its inverse.
constexpr double kStep = 1.25;
// The most measurements between trials; every second failed trial adds one.
constexpr int kMaxHolds = 6;
// If the rate at one limit changes by more than this share, the link counts as
// changed. Trials then become frequent again.
constexpr double kOtherLink = 0.3;

// The number of refusals at which the limit shrinks: more than 1 in 50 answers,
// and at least 4. Fewer refusals may be accidents.
constexpr std::uint64_t kFewRefusals = 4;
constexpr std::uint64_t kRefusalShare = 50;
// The factor by which refusals shrink the limit.
constexpr double kBackOff = 0.7;
// How many measurements follow a refusal before a higher limit is tried again.
// They take some 4 s at least, so that a server that limits rates is left
// alone.
constexpr int kHoldsAfterRefusals = 12;

}  // namespace

ConcurrencyTuner::ConcurrencyTuner(const ConcurrencyTunerOptions& options)
    : options_(options),
      limit_(options.initial),
      allowed_(options.initial),
      base_(options.initial) {
  FOREBAY_CHECK(options.min > 0 && options.min <= options.initial &&
                options.initial <= options.max);
}

void ConcurrencyTuner::OnSample(const ConcurrencySample& sample) {
  if (!began_) {
    began_ = true;
    return MoveTo(limit_, stage_, sample);
  }
  if (IsRefused(sample)) return BackOff(sample);
  if (!settled_) {
    settled_ = Settles(sample);
    if (settled_) BeginWindow(sample);
    return;
  }
  if (sample.starved) return BeginWindow(sample);
  const std::int64_t nanos = sample.now_nanos - window_.now_nanos;
  const std::int64_t latency = std::min(sample.latency_nanos, kMaxLatencyNanos);
  if (nanos < std::max(kWindowNanos, 3 * latency)) return;
  const auto bytes = static_cast<double>(sample.delivered - window_.delivered);
  Judge(bytes / (static_cast<double>(nanos) * 1e-9), sample);
}

void ConcurrencyTuner::OnAnswer() {
  steps_ = !steps_;
  if (steps_) return;
  if (allowed_ < limit_) ++allowed_;
  if (allowed_ > limit_) --allowed_;
}

bool ConcurrencyTuner::Settles(const ConcurrencySample& sample) {
  if (allowed_ != limit_) {
    if (sample.now_nanos < deadline_nanos_) return false;
    // Answers are too few to approach the limit step by step.
    allowed_ = limit_;
  }
  if (!std::exchange(reached_, true)) {
    const auto latency = std::min(sample.latency_nanos, kMaxLatencyNanos);
    settles_nanos_ = sample.now_nanos + std::max(kSettleNanos, 2 * latency);
    deadline_nanos_ = sample.now_nanos + kReachNanos;
  }
  return sample.now_nanos >= settles_nanos_ &&
         (sample.in_flight <= static_cast<std::size_t>(limit_) ||
          sample.now_nanos >= deadline_nanos_);
}

void ConcurrencyTuner::MoveTo(int limit, Stage stage,
                              const ConcurrencySample& sample) {
  const bool same = limit == limit_ && settled_;
  down_ = limit < limit_;
  limit_ = limit;
  stage_ = stage;
  if (same) return BeginWindow(sample);
  settled_ = reached_ = false;
  deadline_nanos_ = sample.now_nanos + kReachNanos;
  refusals_since_ = sample;
}

void ConcurrencyTuner::BeginWindow(const ConcurrencySample& sample) {
  window_ = sample;
  refusals_since_ = sample;
}

bool ConcurrencyTuner::IsRefused(const ConcurrencySample& sample) const {
  const std::uint64_t busy = sample.busy - refusals_since_.busy;
  const std::uint64_t answers = sample.answers - refusals_since_.answers;
  // On the way down, requests that were sent under the higher limit may still
  // be refused.
  return (settled_ || !down_) && busy >= kFewRefusals &&
         busy * kRefusalShare > answers;
}

void ConcurrencyTuner::BackOff(const ConcurrencySample& sample) {
  const int refused = std::min(limit_, allowed_);
  base_ = std::max(options_.min, static_cast<int>(refused * kBackOff));
  // The server asks for a gap in the requests, so the lower limit holds at
  // once.
  allowed_ = std::min(allowed_, base_);
  base_rate_ = 0;
  failed_ = 0;
  upward_ = true;
  holds_left_ = kHoldsAfterRefusals;
  settled_ = false;
  MoveTo(base_, Stage::kHold, sample);
}

void ConcurrencyTuner::Judge(double rate, const ConcurrencySample& sample) {
  switch (stage_) {
    case Stage::kRamp:
      if (base_rate_ > 0 && rate < base_rate_ * kRampGain) {
        if (!std::exchange(doubted_, true)) return BeginWindow(sample);
        holds_left_ = 1;
        return MoveTo(base_, Stage::kHold, sample);
      }
      doubted_ = false;
      base_ = limit_;
      base_rate_ = rate;
      if (limit_ < options_.max)
        return MoveTo(std::min(2 * limit_, options_.max), Stage::kRamp, sample);
      holds_left_ = 1;
      upward_ = false;
      return MoveTo(base_, Stage::kHold, sample);
    case Stage::kHold:
      // If the rate at the same limit has changed, earlier trials tell nothing
      // any more.
      if (base_rate_ > 0 &&
          std::abs(rate - base_rate_) > kOtherLink * base_rate_)
        failed_ = holds_left_ = 0;
      base_rate_ = base_rate_ > 0 ? (base_rate_ + rate) / 2 : rate;
      if (--holds_left_ > 0) return BeginWindow(sample);
      return TryAnother(sample);
    case Stage::kTrial:
      trial_ = limit_;
      trial_rate_ = rate;
      return MoveTo(base_, Stage::kAfter, sample);
    case Stage::kAfter:
      return JudgeTrial(rate, sample);
  }
}

void ConcurrencyTuner::JudgeTrial(double rate,
                                  const ConcurrencySample& sample) {
  base_rate_ = (base_rate_ + rate) / 2;
  // The trial is compared with the mean of the measurements before and after
  // it, so a slow drift of the link cancels.
  const double dislike =
      std::pow(static_cast<double>(trial_) / base_, kDislike);
  if (trial_rate_ > base_rate_ * dislike) {
    base_ = trial_;
    base_rate_ = trial_rate_;
    failed_ = 0;
    return TryAnother(sample);
  }
  upward_ = !upward_;
  ++failed_;
  holds_left_ = std::min(failed_ / 2, kMaxHolds);
  if (holds_left_ > 0) return MoveTo(base_, Stage::kHold, sample);
  TryAnother(sample);
}

void ConcurrencyTuner::TryAnother(const ConcurrencySample& sample) {
  if (Neighbour() == base_) upward_ = !upward_;
  MoveTo(Neighbour(), Stage::kTrial, sample);
}

int ConcurrencyTuner::Neighbour() const {
  const int other = upward_
                        ? std::max(base_ + 1, static_cast<int>(base_ * kStep))
                        : std::min(base_ - 1, static_cast<int>(base_ / kStep));
  return std::clamp(other, options_.min, options_.max);
}

}  // namespace forebay::schedule

#include "server/schedule/concurrency_tuner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "server/base/check.h"

namespace forebay::schedule {
namespace {

constexpr std::int64_t kMillis = 1'000'000;
// Half of a round of requests has been made at a new limit when it has been
// reached for this time, and for two latencies.
constexpr std::int64_t kSettleNanos = 100 * kMillis;
constexpr std::int64_t kWindowNanos = 300 * kMillis;
// The longest wait until as many requests are in flight as a new limit says.
constexpr std::int64_t kReachNanos = 3'000 * kMillis;
constexpr std::int64_t kMaxLatencyNanos = 1'000 * kMillis;

// The exponent of the utility, rate / limit^kDislike.
constexpr double kDislike = 0.06;
// The least gain of doubling for which the limit doubles again.
constexpr double kRampGain = 1.1;
constexpr double kStep = 1.25;
// The most measurements between trials; each failed trial adds to them.
constexpr int kMaxHolds = 6;
// A change of rate that shows another link.
constexpr double kOtherLink = 0.3;

// Refusals that are no accident: 1 in 50 answers, and at least a few.
constexpr std::uint64_t kFewRefusals = 4;
constexpr std::uint64_t kRefusalShare = 50;
constexpr double kBackOff = 0.7;
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
    allowed_ = limit_;  // the rest at once: it takes too long
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
  // On the way down, requests of a higher limit may still be refused.
  return (settled_ || !down_) && busy >= kFewRefusals &&
         busy * kRefusalShare > answers;
}

void ConcurrencyTuner::BackOff(const ConcurrencySample& sample) {
  const int refused = std::min(limit_, allowed_);
  base_ = std::max(options_.min, static_cast<int>(refused * kBackOff));
  allowed_ = std::min(allowed_, base_);  // a gap is what the server asks for
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

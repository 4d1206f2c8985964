#include "server/stream/depth.h"

#include <algorithm>

namespace forebay::stream {
namespace {

// A trainer that always finds this many batches ready could do with less.
constexpr std::size_t kPlenty = 2;
// The largest value of `patience_`, in batches.
constexpr std::uint32_t kMaxPatience = 512;

}  // namespace

void Depth::StartEpoch() {
  settling_ = target_;
  published_at_nanos_.reset();
}

void Depth::SawReady(std::size_t ready) {
  if (settling_ > 0) return;
  if (ready < kPlenty) calm_ = 0;
  if (ready > 0 || target_ == most_) return;
  target_ = most_;
  patience_ = std::min(2 * patience_, kMaxPatience);
}

void Depth::Published(std::int64_t make_nanos, std::int64_t now_nanos) {
  make_nanos_ += (make_nanos - make_nanos_) / 4;
  if (settling_ > 0) {
    --settling_;
    return;
  }
  // All `target_` batches are now in flight or ready, so the next batch is made
  // only when the trainer takes one. The time between two batches is thus the
  // trainer's period.
  if (published_at_nanos_.has_value()) Took(now_nanos - *published_at_nanos_);
  published_at_nanos_ = now_nanos;
  target_ = std::max(target_, Floor());
  if (++calm_ < patience_) return;
  calm_ = 0;
  if (target_ > Floor()) --target_;
}

void Depth::Took(std::int64_t period_nanos) {
  const std::int64_t period = std::max<std::int64_t>(1, period_nanos);
  if (period_nanos_ == 0) {
    period_nanos_ = period;
    return;
  }
  // A pause of the trainer says nothing about its pace, so it counts as four
  // periods at most.
  const std::int64_t counted = std::min(period, 4 * period_nanos_);
  period_nanos_ += (counted - period_nanos_ + 3) / 4;
}

std::uint32_t Depth::Floor() const {
  const std::int64_t in_the_making =
      period_nanos_ == 0 ? most_ : (make_nanos_ - 1) / period_nanos_ + 1;
  return static_cast<std::uint32_t>(std::min<std::int64_t>(
      most_, std::max<std::int64_t>(kMin, in_the_making + 1)));
}

}  // namespace forebay::stream

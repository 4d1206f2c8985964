#include "server/stream/read_window.h"

#include <algorithm>
#include <utility>

namespace forebay::stream {
namespace {

// The window divided by the bandwidth-delay product. With a window of twice the
// product, the rate can double if the source allows it.
constexpr double kMargin = 2;

}  // namespace

ReadWindow::ReadWindow(std::uint64_t least, std::uint64_t most)
    : least_(least), most_(most), wanted_(least) {}

void ReadWindow::StartEpoch() {
  full_ = false;
  stretch_.reset();
}

void ReadWindow::Look(std::int64_t now_nanos, std::uint64_t reading,
                      std::uint64_t arrived) {
  if (!turned_nanos_.has_value()) turned_nanos_ = now_nanos;
  if (stretch_.has_value()) {
    Stretch& stretch = *stretch_;
    // Bytes are assumed to have arrived evenly since `at_nanos`.
    stretch.byte_nanos += static_cast<double>(stretch.reading + reading) / 2 *
                          static_cast<double>(now_nanos - stretch.at_nanos);
    const std::uint64_t bytes = arrived - stretch.arrived;
    const std::int64_t nanos = now_nanos - stretch.began_nanos;
    // A stretch is long enough when a whole window has arrived in it.
    if (bytes >= limit() && nanos > 0) {
      const double rate =
          static_cast<double>(bytes) / static_cast<double>(nanos);
      const double latency = stretch.byte_nanos / static_cast<double>(bytes);
      now_.nanos = now_.rate == 0 ? latency : std::min(now_.nanos, latency);
      now_.rate = std::max(now_.rate, rate);
      if (probing_) turned_nanos_ = now_nanos;
      probing_ = false;
      stretch_.reset();
      Update();
    }
  }
  if (!probing_ && now_nanos - *turned_nanos_ >= kPeriodNanos) Turn(now_nanos);
}

void ReadWindow::Asked(std::int64_t now_nanos, std::uint64_t reading,
                       std::uint64_t arrived, std::uint64_t in_flight,
                       bool full) {
  now_.peak = std::max(now_.peak, in_flight);
  if (!full) {
    probing_ = false;
    return StartEpoch();
  }
  // A stretch begins when requests fill the window for the second time: the
  // first bytes take a latency to arrive. If the window has shrunk, bytes of
  // the larger window must arrive first.
  if (in_flight > limit() || !std::exchange(full_, true)) return;
  if (!stretch_.has_value()) {
    stretch_ = Stretch{.began_nanos = now_nanos,
                       .arrived = arrived,
                       .at_nanos = 0,
                       .reading = 0};
  }
  stretch_->at_nanos = now_nanos;
  stretch_->reading = reading;
}

void ReadWindow::Turn(std::int64_t now_nanos) {
  before_ = now_;
  now_ = {};
  turned_nanos_ = now_nanos;
  Update();
  if (wanted_ == least_) return;
  probing_ = true;
  StartEpoch();
}

void ReadWindow::Update() {
  double desired = 0;
  const double rate = std::max(now_.rate, before_.rate);
  if (rate > 0) {
    const double nanos = now_.rate == 0 ? before_.nanos
                         : before_.rate == 0
                             ? now_.nanos
                             : std::min(now_.nanos, before_.nanos);
    desired = kMargin * rate * nanos;
  } else {
    desired = static_cast<double>(
        std::min(wanted_, std::max(now_.peak, before_.peak)));
  }
  desired = std::clamp(desired, static_cast<double>(least_),
                       static_cast<double>(most_));
  const auto bytes = static_cast<std::uint64_t>(desired);
  // Small changes of the window are not worth a reservation.
  if (bytes == least_ || bytes > wanted_ + wanted_ / 8 ||
      bytes < wanted_ - wanted_ / 4)
    wanted_ = bytes;
}

}  // namespace forebay::stream

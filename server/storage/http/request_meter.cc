#include "server/storage/http/request_meter.h"

#include <algorithm>

// How a cost is measured: in a stretch the host is always busy, so its duration
// is the time that its requests and their bytes took together. From two
// stretches with requests of different sizes, schedule::RequestCost separates
// the cost of a request from the cost of its bytes.
//
// A stretch ends after enough requests. Requests that are in flight at its end
// are counted when they end, for the part of their time that lies in the
// stretch. By then the next stretch has begun.

namespace forebay::storage::http {
namespace {

// A stretch has kRounds times as many requests as may be in flight at once, and
// at least kMinRequests. Stretches are this short so that two in a row may have
// requests of different sizes.
constexpr std::size_t kRounds = 2;
constexpr std::size_t kMinRequests = 32;

}  // namespace

void RequestMeter::Stretch::Add(const MeteredRequest& request,
                                std::int64_t now_nanos, std::int64_t size) {
  const std::int64_t begin = std::max(begin_nanos, request.began_nanos);
  const std::int64_t end = std::min(end_nanos, now_nanos);
  if (end < begin) return;
  const std::int64_t all = now_nanos - request.began_nanos;
  const double part =
      all == 0 ? 1
               : static_cast<double>(end - begin) / static_cast<double>(all);
  requests += part;
  bytes += part * static_cast<double>(size);
}

RequestMeter::MeteredRequest RequestMeter::Began(std::int64_t now_nanos) {
  ++under_way_;
  return {++last_number_, now_nanos};
}

void RequestMeter::Ended(const MeteredRequest& request, std::int64_t now_nanos,
                         std::int64_t bytes) {
  --under_way_;
  if (now_.has_value()) now_->Add(request, now_nanos, bytes);
  if (before_.has_value() && request.number <= before_last_)
    before_->Add(request, now_nanos, bytes);
  LeaveBefore(request);
}

void RequestMeter::Left(const MeteredRequest& request) {
  --under_way_;
  LeaveBefore(request);
}

void RequestMeter::LeaveBefore(const MeteredRequest& request) {
  if (!before_.has_value() || request.number > before_last_) return;
  if (--before_left_ == 0) Observe();
}

void RequestMeter::Failed() {
  --under_way_;
  failed_ = true;
  before_.reset();
}

void RequestMeter::Look(std::int64_t now_nanos, std::size_t at_once,
                        bool starved) {
  if (starved || failed_ || at_once != at_once_) {
    failed_ = false;
    at_once_ = at_once;
    now_.reset();
    before_.reset();
  }
  if (!now_.has_value()) {
    // No stretch begins while requests beyond the new limit are in flight.
    if (under_way_ <= at_once_) now_ = Stretch{.begin_nanos = now_nanos};
    return;
  }
  const std::size_t enough = std::max(kRounds * at_once_, kMinRequests);
  if (before_.has_value() || now_->requests < static_cast<double>(enough))
    return;
  before_ = now_;
  before_->end_nanos = now_nanos;
  before_last_ = last_number_;
  before_left_ = under_way_;
  now_ = Stretch{.begin_nanos = now_nanos};
  if (before_left_ == 0) Observe();
}

void RequestMeter::Observe() {
  cost_.Observe(before_->requests, before_->bytes,
                static_cast<double>(before_->end_nanos - before_->begin_nanos));
  before_.reset();
}

}  // namespace forebay::storage::http

#include "server/storage/http/request_meter.h"

#include <algorithm>

namespace forebay::storage::http {
namespace {

// What is under way at both ends of a stretch is not seen: it is to be little
// beside what ended in it.
constexpr std::int64_t kRounds = 4;
constexpr std::int64_t kLeastRequests = 32;

}  // namespace

void RequestMeter::Ended(std::int64_t bytes) {
  ++requests_;
  bytes_ += bytes;
}

void RequestMeter::Look(std::int64_t now_nanos, int at_once, bool starved) {
  if (starved || at_once != at_once_) {
    at_once_ = at_once;
    return Begin(std::nullopt);
  }
  if (!began_nanos_.has_value()) {
    if (requests_ >= at_once_) Begin(now_nanos);
    return;
  }
  if (requests_ < std::max(kRounds * at_once_, kLeastRequests)) return;
  cost_.Observe(requests_, bytes_, now_nanos - *began_nanos_);
  Begin(now_nanos);
}

void RequestMeter::Begin(std::optional<std::int64_t> now_nanos) {
  began_nanos_ = now_nanos;
  requests_ = 0;
  bytes_ = 0;
}

}  // namespace forebay::storage::http

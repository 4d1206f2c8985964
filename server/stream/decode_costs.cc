#include "server/stream/decode_costs.h"

#include <algorithm>

namespace forebay::stream {
namespace {

constexpr std::uint32_t kRemembered = 64;
// Samples of each kind before what they took is believed.
constexpr std::uint32_t kEnough = 8;

}  // namespace

void DecodeCosts::Mean::Add(std::int64_t nanos) {
  count_ = std::min(count_ + 1, kRemembered);
  nanos_ += (static_cast<double>(nanos) - nanos_) / count_;
}

void DecodeCosts::AddEncoded(std::int64_t nanos) {
  base::MutexLock lock(&mutex_);
  encoded_.Add(nanos);
}

void DecodeCosts::AddKept(std::int64_t nanos, std::int64_t rest_nanos) {
  base::MutexLock lock(&mutex_);
  kept_.Add(nanos);
  from_variant_.Add(rest_nanos);
}

void DecodeCosts::AddFromVariant(std::int64_t nanos) {
  base::MutexLock lock(&mutex_);
  from_variant_.Add(nanos);
}

DecodeCosts::Appraisal DecodeCosts::Appraise() const {
  base::MutexLock lock(&mutex_);
  // First the one, then the other is tried.
  if (encoded_.count() < kEnough) return {};
  if (kept_.count() < kEnough) {
    return {
        std::max<std::int64_t>(1, static_cast<std::int64_t>(encoded_.nanos())),
        0};
  }
  return {static_cast<std::int64_t>(encoded_.nanos() - from_variant_.nanos()),
          std::max<std::int64_t>(
              0, static_cast<std::int64_t>(kept_.nanos() - encoded_.nanos()))};
}

}  // namespace forebay::stream

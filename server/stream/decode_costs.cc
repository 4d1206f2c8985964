#include "server/stream/decode_costs.h"

#include <algorithm>

namespace forebay::stream {
namespace {

// The number of values that a running mean remembers.
constexpr std::uint32_t kRemembered = 64;
// The number of images that are made in one way before the mean of that way is
// used.
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

void DecodeCosts::AddWholeVariant(std::int64_t nanos, std::int64_t rest_nanos) {
  base::MutexLock lock(&mutex_);
  whole_variant_.Add(nanos);
  from_variant_.Add(rest_nanos);
}

void DecodeCosts::AddFromVariant(std::int64_t nanos) {
  base::MutexLock lock(&mutex_);
  from_variant_.Add(nanos);
}

DecodeCosts::Appraisal DecodeCosts::Appraise() const {
  base::MutexLock lock(&mutex_);
  // Plain decoding is measured first. Images then offer their variants until
  // that way is measured too.
  if (encoded_.count() < kEnough) return {};
  if (whole_variant_.count() < kEnough) {
    return {
        std::max<std::int64_t>(1, static_cast<std::int64_t>(encoded_.nanos())),
        0};
  }
  return {static_cast<std::int64_t>(encoded_.nanos() - from_variant_.nanos()),
          std::max<std::int64_t>(
              0, static_cast<std::int64_t>(whole_variant_.nanos() -
                                           encoded_.nanos()))};
}

}  // namespace forebay::stream

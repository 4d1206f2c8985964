#include "server/schedule/request_cost.h"

#include <algorithm>

namespace forebay::schedule {
namespace {

// Rates of bytes are kept in megabytes a second, so that both rates have about
// the same magnitude.
constexpr double kMegabyte = 1e6;
// The factor by which each observation reduces the weight of all earlier ones.
constexpr double kMemory = 0.98;
// The least determinant, relative to the product of the squares, for which a
// and b are told apart. Requests that vary in size by about a twentieth reach
// this determinant.
constexpr double kMinSpread = 2e-3;

}  // namespace

void RequestCost::Observe(double requests, double bytes, double nanos) {
  if (requests <= 0 || bytes <= 0 || nanos <= 0) return;
  const double seconds = nanos * 1e-9;
  const double request_rate = requests / seconds;
  const double byte_rate = bytes / kMegabyte / seconds;
  const auto add = [](double* sum, double value) {
    *sum = *sum * kMemory + value;
  };
  add(&requests_squared_, request_rate * request_rate);
  add(&requests_bytes_, request_rate * byte_rate);
  add(&bytes_squared_, byte_rate * byte_rate);
  add(&requests_sum_, request_rate);
  add(&bytes_sum_, byte_rate);
  Fit();
}

void RequestCost::Fit() {
  const double squares = requests_squared_ * bytes_squared_;
  const double determinant = squares - requests_bytes_ * requests_bytes_;
  if (determinant < kMinSpread * squares) return;
  // The solutions a and b by Cramer's rule, each multiplied by the determinant,
  // which cancels in a / b.
  const double request =
      requests_sum_ * bytes_squared_ - bytes_sum_ * requests_bytes_;
  const double megabyte =
      bytes_sum_ * requests_squared_ - requests_sum_ * requests_bytes_;
  // Noise may make either of them negative. The result is clamped to
  // kMin..kMax.
  const double most = static_cast<double>(kMax);
  const double cost =
      megabyte <= 0 ? most : std::min(most, request / megabyte * kMegabyte);
  bytes_ = std::max(kMin, static_cast<std::int64_t>(cost));
}

}  // namespace forebay::schedule

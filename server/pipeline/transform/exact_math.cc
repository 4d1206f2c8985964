#include "server/pipeline/transform/exact_math.h"

#include <cmath>

namespace forebay::pipeline::transform {
namespace {

// ln 2 in two parts; the first has trailing zeros, so that small multiples of
// it are exact.
constexpr double kLn2High = 6.93147180369123816490e-01;
constexpr double kLn2Low = 1.90821492927058770002e-10;

}  // namespace

double ExactExp(double x) {
  const double k = std::nearbyint(x / (kLn2High + kLn2Low));
  const double r = (x - k * kLn2High) - k * kLn2Low;  // |r| <= ln(2) / 2
  double sum = 1;
  for (int n = 18; n >= 1; --n) sum = 1 + sum * r / n;
  return std::ldexp(sum, static_cast<int>(k));
}

double ExactLog(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  // log(m) = 2 artanh((m - 1) / (m + 1)).
  const double s = (m - 1) / (m + 1);
  const double square = s * s;
  double sum = 0;
  for (int n = 27; n >= 1; n -= 2) sum = sum * square + 1.0 / n;
  return exponent * kLn2High + (exponent * kLn2Low + 2 * s * sum);
}

}  // namespace forebay::pipeline::transform

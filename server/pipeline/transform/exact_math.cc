// Each function first reduces its argument, exactly or nearly so, to a range
// where few terms of a Taylor series suffice. The series are summed by Horner's
// scheme, from the smallest term up, in an order that the source fixes. There
// are so many terms that the error of truncation is below that of rounding.

#include "server/pipeline/transform/exact_math.h"

#include <cmath>

namespace forebay::pipeline::transform {
namespace {

// The two parts of ln 2. The high part ends with zero bits, so that small
// multiples of it are exact (as in FreeBSD's e_exp.c).
constexpr double kLn2High = 6.93147180369123816490e-01;
constexpr double kLn2Low = 1.90821492927058770002e-10;
constexpr double kPi = 3.14159265358979323846;

// Sum the Taylor series of sine and cosine; |x| is at most pi / 4.
double SmallSin(double x) {
  double sum = 1;
  for (int n = 18; n >= 2; n -= 2) sum = 1 - sum * x * x / (n * (n + 1));
  return sum * x;
}
double SmallCos(double x) {
  double sum = 1;
  for (int n = 17; n >= 1; n -= 2) sum = 1 - sum * x * x / (n * (n + 1));
  return sum;
}

// Subtracts the nearest multiple of 2 from x. The result is within -1 and 1.
double WithinTurn(double x) { return x - 2 * std::nearbyint(x / 2); }

}  // namespace

double ExactExp(double x) {
  const double k = std::nearbyint(x / (kLn2High + kLn2Low));
  // The argument is x = k ln 2 + r with |r| at most ln(2) / 2, so e^x is 2^k
  // e^r.
  const double r = (x - k * kLn2High) - k * kLn2Low;
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
  // The mantissa m is now within sqrt(1/2) and sqrt(2), where the series of
  // log(m) = 2 artanh((m - 1) / (m + 1)) converges fast.
  const double s = (m - 1) / (m + 1);
  const double square = s * s;
  double sum = 0;
  for (int n = 27; n >= 1; n -= 2) sum = sum * square + 1.0 / n;
  return exponent * kLn2High + (exponent * kLn2Low + 2 * s * sum);
}

double ExactSinPi(double x) {
  const double turn = WithinTurn(x);
  const double r = std::fabs(turn);
  double value = 0;
  if (r <= 0.25) {
    value = SmallSin(kPi * r);
  } else if (r <= 0.75) {
    value = SmallCos(kPi * (0.5 - r));
  } else {
    value = SmallSin(kPi * (1 - r));
  }
  return std::copysign(value, turn);
}

double ExactCosPi(double x) {
  const double r = std::fabs(WithinTurn(x));
  if (r <= 0.25) return SmallCos(kPi * r);
  if (r <= 0.75) return SmallSin(kPi * (0.5 - r));
  return -SmallCos(kPi * (1 - r));
}

}  // namespace forebay::pipeline::transform

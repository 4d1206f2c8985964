#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_EXACT_MATH_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_EXACT_MATH_H_

namespace forebay::pipeline::transform {

// Functions made of additions, multiplications and divisions alone. The C
// library uses other code on CPUs with fused multiply-add, whose last bit
// differs. The error is below 1e-14, of exp and log relative to the result.
// Thread-safe, no errors.

// |x| at most 700.
double ExactExp(double x);

// x finite, normal and above 0.
double ExactLog(double x);

// sin and cos of pi * x; x is finite.
double ExactSinPi(double x);
double ExactCosPi(double x);

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_EXACT_MATH_H_

#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_EXACT_MATH_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_EXACT_MATH_H_

namespace forebay::pipeline::transform {

// Mathematical functions that only add, multiply and divide, so results have
// the same bits on every CPU. On CPUs with fused multiply-add, the C library
// uses other code, whose results differ in the last bit. Results are accurate
// to 1e-14: relative for exp and log, absolute for sine and cosine. Functions
// are thread-safe and never block.

// Returns e to the power x; |x| is at most 700.
double ExactExp(double x);

// Returns the natural logarithm of x; x is finite, normal and above 0.
double ExactLog(double x);

// Return the sine and cosine of pi * x; x is finite.
double ExactSinPi(double x);
double ExactCosPi(double x);

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_EXACT_MATH_H_

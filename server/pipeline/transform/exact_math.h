#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_EXACT_MATH_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_EXACT_MATH_H_

namespace forebay::pipeline::transform {

// exp and log from additions, multiplications and divisions alone. The C
// library uses other code on CPUs with fused multiply-add, whose last bit
// differs. The relative error is below 1e-14. Thread-safe, no errors.

// |x| at most 700.
double ExactExp(double x);

// x finite, normal and above 0.
double ExactLog(double x);

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_EXACT_MATH_H_

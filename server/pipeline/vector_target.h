#ifndef FOREBAY_SERVER_PIPELINE_VECTOR_TARGET_H_
#define FOREBAY_SERVER_PIPELINE_VECTOR_TARGET_H_

#include <string_view>

namespace forebay::pipeline {

// The vector instructions that pixels are processed with on this CPU, for
// people: "AVX3". Thread-safe.
std::string_view VectorTarget();

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_VECTOR_TARGET_H_

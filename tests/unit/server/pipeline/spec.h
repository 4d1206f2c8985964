#ifndef FOREBAY_TESTS_UNIT_SERVER_PIPELINE_SPEC_H_
#define FOREBAY_TESTS_UNIT_SERVER_PIPELINE_SPEC_H_

#include <google/protobuf/text_format.h>

#include <string>

#include "proto/job.pb.h"
#include "tests/catch/catch.h"

namespace forebay::pipeline {

// Returns the PipelineSpec that `text` has in protobuf's text format.
inline proto::PipelineSpec Spec(const std::string& text) {
  proto::PipelineSpec spec;
  CAPTURE(text);
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &spec));
  return spec;
}

inline constexpr char kImageNet[] =
    "ops { to_dtype { dtype: FLOAT32 scale: true } } "
    "ops { normalize { mean: [0.485, 0.456, 0.406] "
    "std: [0.229, 0.224, 0.225] } } ";

}  // namespace forebay::pipeline

#endif  // FOREBAY_TESTS_UNIT_SERVER_PIPELINE_SPEC_H_

#ifndef FOREBAY_TESTS_UNIT_SERVER_PIPELINE_SPEC_H_
#define FOREBAY_TESTS_UNIT_SERVER_PIPELINE_SPEC_H_

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "proto/job.pb.h"

namespace forebay::pipeline {

// A PipelineSpec from protobuf's text format.
inline proto::PipelineSpec Spec(const std::string& text) {
  proto::PipelineSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec))
      << text;
  return spec;
}

inline constexpr char kImageNet[] =
    "ops { to_dtype { dtype: FLOAT32 scale: true } } "
    "ops { normalize { mean: [0.485, 0.456, 0.406] "
    "std: [0.229, 0.224, 0.225] } } ";

}  // namespace forebay::pipeline

#endif  // FOREBAY_TESTS_UNIT_SERVER_PIPELINE_SPEC_H_

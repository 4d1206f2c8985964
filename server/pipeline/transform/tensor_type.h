#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_TENSOR_TYPE_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_TENSOR_TYPE_H_

#include <cstdint>
#include <vector>

#include "proto/shm_layout.h"

namespace forebay::pipeline::transform {

// The type of an array, or of the tensor that one sample becomes.
struct TensorType {
  proto::DType dtype = proto::DType::kUint8;
  // Lengths of the axes, without the batch dimension.
  std::vector<std::uint64_t> shape;
  // Bytes of the whole tensor.
  std::uint64_t bytes = 0;
};

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_TENSOR_TYPE_H_

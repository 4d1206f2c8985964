#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_TENSOR_TYPE_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_TENSOR_TYPE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
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

// Returns the size in bytes of an array of type `dtype` and shape `shape`;
// nullopt if the number overflows 64 bits. Pure function.
inline std::optional<std::uint64_t> BytesOf(
    proto::DType dtype, absl::Span<const std::uint64_t> shape) {
  std::uint64_t bytes = proto::SizeOf(dtype);
  for (const std::uint64_t length : shape) {
    if (__builtin_mul_overflow(bytes, length, &bytes)) return std::nullopt;
  }
  return bytes;
}

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_TENSOR_TYPE_H_

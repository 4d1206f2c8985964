#ifndef FOREBAY_SERVER_ARRAY_NPY_ARRAY_H_
#define FOREBAY_SERVER_ARRAY_NPY_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/shm_layout.h"

// Arrays in .npy files, of the types that batches can have. Functions are
// thread-safe and never block.

namespace forebay::array {

// The array in a .npy file.
struct NpyArray {
  proto::DType dtype = proto::DType::kUint8;
  std::vector<std::uint64_t> shape;  // at most 32 dimensions; one item if none
  // Where the items lie in the file, little-endian and in C order.
  std::uint64_t offset = 0;  // bytes
  std::uint64_t bytes = 0;   // at most 2^62
};

// Reads the header of a file that begins with `start`, where all of the header
// must lie. Whether the items are there is for the caller to check. DATA_LOSS
// and UNIMPLEMENTED: as ParseNpyHeader; UNIMPLEMENTED, too: the items are
// complex, big-endian, or in Fortran's order. Errors give the reason alone.
absl::StatusOr<NpyArray> ReadNpyArray(absl::Span<const std::uint8_t> start);

// For people, as NumPy writes a shape: "(3, 5)"; or "(n, 5)" if that axis may
// have any length.
std::string DescribeShape(
    absl::Span<const std::uint64_t> shape,
    std::optional<std::size_t> ragged_axis = std::nullopt);

// For people, as NumPy writes a type: "float32 (3, 5)".
std::string DescribeArray(
    proto::DType dtype, absl::Span<const std::uint64_t> shape,
    std::optional<std::size_t> ragged_axis = std::nullopt);

}  // namespace forebay::array

#endif  // FOREBAY_SERVER_ARRAY_NPY_ARRAY_H_

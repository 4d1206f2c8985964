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

// Reads the headers of .npy files, if batches can have items of their type. All
// functions here are thread-safe, own nothing and never block.

namespace forebay::array {

// The array of a .npy file: the type of its items, its shape, and where the
// items lie in the file.
struct NpyArray {
  proto::DType dtype = proto::DType::kUint8;
  // Extents of the axes, the slowest one first; at most 32. An array without
  // axes has exactly one item.
  std::vector<std::uint64_t> shape;
  // Offset in bytes of the first item from the start of the file. Items are
  // little-endian and in C order.
  std::uint64_t offset = 0;  // bytes
  // Bytes of all items together; at most 2^62.
  std::uint64_t bytes = 0;
};

// Reads the header of a .npy file. `start` is the file's beginning and contains
// the whole header. The caller must check that the file is long enough for the
// array. Errors give the reason alone, without a file name. DATA_LOSS and
// UNIMPLEMENTED are those of ParseNpyHeader. UNIMPLEMENTED also means that the
// items are complex, big-endian, or in Fortran order along several axes.
absl::StatusOr<NpyArray> ReadNpyArray(absl::Span<const std::uint8_t> start);

// Returns a shape as NumPy prints it, for messages to people: "(3, 5)". The
// axis `ragged_axis`, which may have any length, is printed as "n": "(n, 5)".
std::string DescribeShape(
    absl::Span<const std::uint64_t> shape,
    std::optional<std::size_t> ragged_axis = std::nullopt);

// Returns a type and a shape for messages to people: "float32 (3, 5)".
std::string DescribeArray(
    proto::DType dtype, absl::Span<const std::uint64_t> shape,
    std::optional<std::size_t> ragged_axis = std::nullopt);

}  // namespace forebay::array

#endif  // FOREBAY_SERVER_ARRAY_NPY_ARRAY_H_

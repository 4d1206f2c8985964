#include "server/pipeline/array.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/array/npy_array.h"
#include "server/base/status.h"

namespace forebay::pipeline {

absl::StatusOr<Array> ReadArray(absl::Span<const std::uint8_t> file) {
  FOREBAY_ASSIGN_OR_RETURN(array::NpyArray found, array::ReadNpyArray(file));
  const std::uint64_t there = file.size() - found.offset;
  if (found.bytes > there) {
    return absl::DataLossError(absl::StrCat(
        "is truncated: it has ", there, " of ", found.bytes, " bytes of data"));
  }
  if (found.shape.size() + 1 > proto::kMaxRank) {
    return absl::UnimplementedError(absl::StrCat(
        "is a .npy file of ", found.shape.size(),
        " dimensions, of which at most ", proto::kMaxRank - 1, " can be read"));
  }
  Array array;
  array.type.dtype = found.dtype;
  array.type.shape = std::move(found.shape);
  array.type.bytes = found.bytes;
  array.items = file.subspan(found.offset, found.bytes);
  return array;
}

std::string Describe(const TensorType& type,
                     std::optional<std::size_t> ragged_axis) {
  return array::DescribeArray(type.dtype, type.shape, ragged_axis);
}

}  // namespace forebay::pipeline

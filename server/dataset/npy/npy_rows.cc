#include "server/dataset/npy/npy_rows.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/shm_layout.h"
#include "server/array/npy_array.h"
#include "server/base/status.h"

namespace forebay::dataset::npy {
namespace {

// Checks that the array has rows, and that they fit into a batch. An extent of
// 0 is accepted only on the first axis; the file then has no rows.
absl::Status CheckShape(const array::NpyArray& array) {
  if (array.shape.empty()) {
    return absl::UnimplementedError(
        "is a .npy file of a single value, which has no rows");
  }
  if (array.shape.size() > proto::kMaxRank) {
    return absl::UnimplementedError(absl::StrCat(
        "is a .npy file of ", array.shape.size(),
        " dimensions, of which at most ", proto::kMaxRank, " can be read"));
  }
  if (std::find(array.shape.begin() + 1, array.shape.end(), 0) !=
      array.shape.end()) {
    return absl::UnimplementedError(
        absl::StrCat("has rows without elements: its shape is ",
                     array::DescribeShape(array.shape)));
  }
  return absl::OkStatus();
}

// Checks that the file ends with its last row. Bytes after the last row mean
// that a writer was interrupted or that the header is wrong.
absl::Status CheckSize(const array::NpyArray& array, std::uint64_t file_bytes) {
  if (array.offset > file_bytes || array.bytes > file_bytes - array.offset) {
    return absl::DataLossError(
        absl::StrCat("is truncated: it has ",
                     file_bytes - std::min(array.offset, file_bytes), " of ",
                     array.bytes, " bytes of data"));
  }
  const std::uint64_t more = file_bytes - array.offset - array.bytes;
  if (more > 0) {
    return absl::DataLossError(
        absl::StrCat("has ", more, " bytes behind its last row"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<NpyRows> ReadNpyRows(absl::Span<const std::uint8_t> start,
                                    std::uint64_t file_bytes) {
  FOREBAY_ASSIGN_OR_RETURN(const array::NpyArray found,
                           array::ReadNpyArray(start));
  FOREBAY_RETURN_IF_ERROR(CheckShape(found));
  FOREBAY_RETURN_IF_ERROR(CheckSize(found, file_bytes));
  NpyRows rows;
  rows.count = found.shape.front();
  rows.data_offset = found.offset;
  rows.type.dtype = found.dtype;
  rows.type.shape.assign(found.shape.begin() + 1, found.shape.end());
  // The product cannot overflow: ParseNpyHeader bounds the product of all
  // extents that are not 0.
  rows.row_bytes = proto::SizeOf(found.dtype);
  for (const std::uint64_t extent : rows.type.shape) rows.row_bytes *= extent;
  return rows;
}

}  // namespace forebay::dataset::npy

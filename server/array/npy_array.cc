#include "server/array/npy_array.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/array/npy_header.h"
#include "server/base/status.h"

namespace forebay::array {
namespace {

using proto::DType;

// A type of .npy items, the type that batches have for such items, and NumPy's
// name of the type.
struct NumberType {
  NpyKind kind;
  std::uint64_t bytes;
  DType dtype;
  const char* name;
};
constexpr NumberType kNumberTypes[] = {
    {NpyKind::kBool, 1, DType::kBool, "bool"},
    {NpyKind::kSigned, 1, DType::kInt8, "int8"},
    {NpyKind::kSigned, 2, DType::kInt16, "int16"},
    {NpyKind::kSigned, 4, DType::kInt32, "int32"},
    {NpyKind::kSigned, 8, DType::kInt64, "int64"},
    {NpyKind::kUnsigned, 1, DType::kUint8, "uint8"},
    {NpyKind::kUnsigned, 2, DType::kUint16, "uint16"},
    {NpyKind::kUnsigned, 4, DType::kUint32, "uint32"},
    {NpyKind::kUnsigned, 8, DType::kUint64, "uint64"},
    {NpyKind::kFloat, 2, DType::kFloat16, "float16"},
    {NpyKind::kFloat, 4, DType::kFloat32, "float32"},
    {NpyKind::kFloat, 8, DType::kFloat64, "float64"},
};

}  // namespace

absl::StatusOr<NpyArray> ReadNpyArray(absl::Span<const std::uint8_t> start) {
  FOREBAY_ASSIGN_OR_RETURN(NpyHeader header, ParseNpyHeader(start));
  // Complex items have no row in the table; all other kinds and sizes have one.
  const auto* const type =
      std::find_if(std::begin(kNumberTypes), std::end(kNumberTypes),
                   [&](const NumberType& candidate) {
                     return candidate.kind == header.kind &&
                            candidate.bytes == header.item_bytes;
                   });
  if (type == std::end(kNumberTypes)) {
    return absl::UnimplementedError(
        "is a .npy file of complex numbers, which cannot be read");
  }
  if (header.big_endian) {
    return absl::UnimplementedError(
        "is a big-endian .npy file, of which only little-endian ones can be "
        "read");
  }
  // The items of an array with one axis have the same order in C and in
  // Fortran.
  if (header.fortran_order && header.shape.size() > 1) {
    return absl::UnimplementedError(
        "is a .npy file in Fortran's order, of which only C's can be read");
  }
  return NpyArray{.dtype = type->dtype,
                  .shape = std::move(header.shape),
                  .offset = header.data_offset,
                  .bytes = header.data_bytes};
}

std::string DescribeShape(absl::Span<const std::uint64_t> shape,
                          std::optional<std::size_t> ragged_axis) {
  std::vector<std::string> axes;
  for (const std::uint64_t length : shape) axes.push_back(absl::StrCat(length));
  if (ragged_axis.has_value()) axes[*ragged_axis] = "n";
  return absl::StrCat("(", absl::StrJoin(axes, ", "),
                      axes.size() == 1 ? ",)" : ")");
}

std::string DescribeArray(DType dtype, absl::Span<const std::uint64_t> shape,
                          std::optional<std::size_t> ragged_axis) {
  const auto* const number = std::find_if(
      std::begin(kNumberTypes), std::end(kNumberTypes),
      [&](const NumberType& candidate) { return candidate.dtype == dtype; });
  // Only batches can have the type bfloat16. No .npy file has it, so the table
  // has no row for it.
  return absl::StrCat(
      number == std::end(kNumberTypes) ? "bfloat16" : number->name, " ",
      DescribeShape(shape, ragged_axis));
}

}  // namespace forebay::array

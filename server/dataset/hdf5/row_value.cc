#include "server/dataset/hdf5/row_value.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <functional>

#include "absl/strings/str_cat.h"
#include "proto/raw_image.h"
#include "server/base/status.h"

namespace forebay::dataset::hdf5 {
namespace {

using Kind = ElementType::Kind;
using proto::DType;
using proto::FieldKind;

static_assert(std::endian::native == std::endian::little);

// Returns the integer that an element of at most 8 bytes has, with its sign.
std::int64_t IntegerOf(const ElementType& type, Bytes bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t at = type.big_endian ? bytes.size() - 1 - i : i;
    number |= std::uint64_t{bytes[at]} << (8 * i);
  }
  const bool is_signed =
      type.dtype == DType::kInt8 || type.dtype == DType::kInt16 ||
      type.dtype == DType::kInt32 || type.dtype == DType::kInt64;
  // A shift to the left and an arithmetic shift back extend the sign.
  const auto unused = static_cast<unsigned>(64 - 8 * bytes.size());
  if (!is_signed || bytes.empty()) return static_cast<std::int64_t>(number);
  return static_cast<std::int64_t>(number << unused) >> unused;
}

// Copies elements into the host's little-endian order. Any nonzero boolean
// becomes 1.
void CopyElements(const ElementType& type, Bytes elements,
                  absl::Span<std::uint8_t> to) {
  std::copy(elements.begin(), elements.end(), to.begin());
  const auto width = static_cast<std::ptrdiff_t>(proto::SizeOf(type.dtype));
  if (type.big_endian && width > 1) {
    for (auto at = to.begin(); at != to.end(); at += width)
      std::reverse(at, at + width);
  }
  if (type.dtype == DType::kBool) {
    for (std::uint8_t& one : to) one = one != 0 ? 1 : 0;
  }
}

// Makes the bytes of a raw image: a header and the pixels.
ComputedBytes MakeImage(const Hdf5Column& column, Bytes pixels,
                        ValueBuffers* buffers) {
  const proto::RawImageHeader header{
      .magic = proto::kRawImageMagic,
      .width = static_cast<std::uint32_t>(column.shape[1]),
      .height = static_cast<std::uint32_t>(column.shape[0]),
      .channels = column.shape.size() == 2
                      ? 1
                      : static_cast<std::uint32_t>(column.shape[2])};
  const absl::Span<std::uint8_t> room =
      buffers->Add(sizeof(header) + pixels.size());
  std::memcpy(room.data(), &header, sizeof(header));
  std::copy(pixels.begin(), pixels.end(),
            room.begin() + static_cast<std::ptrdiff_t>(sizeof(header)));
  return {room};
}

// Returns a text without its padding. A text of variable length also ends at
// its first NUL, as libhdf5 reads it.
Bytes WithoutPadding(const ElementType& type, Bytes text) {
  if (type.kind == Kind::kVariableText ||
      type.padding == TextPadding::kTerminated) {
    const auto* const end =
        std::find(text.begin(), text.end(), std::uint8_t{0});
    return text.first(static_cast<std::size_t>(end - text.begin()));
  }
  const std::uint8_t padding = type.padding == TextPadding::kSpaces ? ' ' : 0;
  while (!text.empty() && text.back() == padding) text.remove_suffix(1);
  return text;
}

// Whether `bytes` is not empty and lies in `read`. Pointers into different
// arrays can be compared only by std::less.
bool Has(Bytes read, Bytes bytes) {
  return !bytes.empty() && !read.empty() &&
         !std::less<>()(bytes.data(), read.data()) &&
         std::less<>()(bytes.data(), read.data() + read.size());
}

// Returns the range of `bytes` within `read`.
FieldRange RangeOf(Bytes bytes, Bytes read) {
  return {static_cast<std::uint64_t>(bytes.data() - read.data()), bytes.size()};
}

// Returns bytes unchanged: as a range if they are in `read`, otherwise as a
// copy.
FieldValue AsTheyAre(Bytes bytes, Bytes read, ValueBuffers* buffers) {
  if (Has(read, bytes)) return RangeOf(bytes, read);
  const absl::Span<std::uint8_t> copy = buffers->Add(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.begin());
  return ComputedBytes{copy};
}

}  // namespace

absl::StatusOr<FieldValue> RowValue(const Hdf5Column& column, Bytes bytes,
                                    Bytes read, ValueBuffers* buffers) {
  const ElementType& type = column.type;
  const bool is_fixed = !column.has_any_length();
  if (is_fixed && bytes.size() != column.value_bytes()) {
    return absl::DataLossError(absl::StrCat(
        "has ", bytes.size(), " bytes instead of ", column.value_bytes()));
  }
  const bool is_number = is_fixed && type.kind == Kind::kNumber;
  if (column.value.kind == FieldKind::kLabel && is_number)
    return IntegerOf(type, bytes);
  if (column.value.kind == FieldKind::kImage && is_number)
    return MakeImage(column, bytes, buffers);
  if (column.value.array.has_value()) {
    const std::uint64_t width = proto::SizeOf(type.dtype);
    if (bytes.size() % width != 0)
      return absl::DataLossError("has a part of an element");
    // Numbers of several bytes can stay in place only at the start of `read`,
    // which is aligned for any type.
    const bool can_stay = (width == 1 || bytes.data() == read.data()) &&
                          Has(read, bytes) && !type.big_endian &&
                          type.dtype != DType::kBool;
    if (can_stay) return RangeOf(bytes, read);
    const absl::Span<std::uint8_t> copy = buffers->Add(bytes.size());
    CopyElements(type, bytes, copy);
    return ComputedBytes{copy};
  }
  const bool is_text =
      type.kind == Kind::kText || type.kind == Kind::kVariableText;
  return AsTheyAre(is_text ? WithoutPadding(type, bytes) : bytes, read,
                   buffers);
}

}  // namespace forebay::dataset::hdf5

// Lays images into user-code buffers. A buffer holds the header of a raw image,
// and room for the code's input and its result, which lie in the same place. A
// worker may write anything into the buffer. The daemon therefore takes sizes
// from the pipeline, never from the buffer.

#include "server/pipeline/user_code.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "proto/raw_image.h"
#include "proto/shm_layout.h"
#include "server/base/check.h"

namespace forebay::pipeline {
namespace {

// The most bytes of a result. With this bound, sums of sizes cannot overflow.
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 40;
// Longest side of an image that ops may follow, in pixels.
constexpr std::uint64_t kMaxExtent = 65535;
// The most axes of a result. The batch has one axis more.
constexpr int kMaxDimensions = static_cast<int>(proto::kMaxRank) - 1;
// Bytes of a raw image's header, before its pixels.
constexpr std::uint64_t kHeader = sizeof(proto::RawImageHeader);

// Whether ops on images can take a result of the type `type`.
bool IsImage(const TensorType& type) {
  const auto is_extent = [](std::uint64_t extent) {
    return extent >= 1 && extent <= kMaxExtent;
  };
  return type.dtype == proto::DType::kUint8 && type.shape.size() == 3 &&
         is_extent(type.shape[0]) && is_extent(type.shape[1]) &&
         (type.shape[2] == 1 || type.shape[2] == 3);
}

// Writes the header of a raw image of the type `type`, and returns the place of
// the image's pixels.
absl::Span<std::uint8_t> LayHeader(const TensorType& type,
                                   absl::Span<std::uint8_t> user_buffer) {
  const proto::RawImageHeader header = {
      .magic = proto::kRawImageMagic,
      .width = static_cast<std::uint32_t>(type.shape[1]),
      .height = static_cast<std::uint32_t>(type.shape[0]),
      .channels = static_cast<std::uint32_t>(type.shape[2])};
  std::memcpy(user_buffer.data(), &header, sizeof(header));
  return user_buffer.subspan(kHeader, type.bytes);
}

}  // namespace

absl::StatusOr<TensorType> UserCode::ResultOf(const proto::UserCode& spec) {
  constexpr std::size_t kIdentityBytes = 16;
  if (spec.identity().size() != kIdentityBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("an identity has ", kIdentityBytes, " bytes, not ",
                     spec.identity().size()));
  }
  TensorType type{
      .dtype = static_cast<proto::DType>(spec.dtype()),
      .shape = {spec.shape().begin(), spec.shape().end()},
      .bytes = proto::SizeOf(static_cast<proto::DType>(spec.dtype()))};
  if (type.bytes == 0 || spec.shape_size() > kMaxDimensions) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the result is of data type ", static_cast<int>(spec.dtype()), " and ",
        spec.shape_size(), " dimensions"));
  }
  for (const std::uint64_t extent : type.shape) {
    if (__builtin_mul_overflow(type.bytes, extent, &type.bytes) ||
        type.bytes > kMaxBytes) {
      return absl::InvalidArgumentError("the result's shape is too large");
    }
  }
  if (!spec.finished() && !IsImage(type)) {
    return absl::InvalidArgumentError(
        "transforms come after it, so its result must be uint8 of height, "
        "width "
        "and 1 or 3 channels");
  }
  return type;
}

std::uint64_t UserCode::user_buffer_bytes() const {
  const std::uint64_t bytes = kHeader + std::max(input_.bytes, result_.bytes);
  // The buffers of a batch's samples follow each other. Each begins at a
  // multiple of 8 bytes.
  return (bytes + 7) / 8 * 8;
}

absl::Span<std::uint8_t> UserCode::Input(
    absl::Span<std::uint8_t> user_buffer) const {
  FOREBAY_CHECK(user_buffer.size() >= user_buffer_bytes());
  return LayHeader(input_, user_buffer);
}

absl::Status UserCode::RunAfter(absl::Span<std::uint8_t> user_buffer,
                                const SampleKey& key, Workspace& workspace,
                                absl::Span<std::uint8_t> out) const {
  FOREBAY_CHECK(user_buffer.size() >= user_buffer_bytes());
  if (after_ == nullptr) {
    FOREBAY_CHECK(out.size() == result_.bytes);
    std::copy_n(user_buffer.data() + kHeader, out.size(), out.data());
    return absl::OkStatus();
  }
  // The worker may have overwritten the header, so it is written anew.
  const absl::Span<const std::uint8_t> pixels = LayHeader(result_, user_buffer);
  return after_->Run({user_buffer.data(), kHeader + pixels.size()}, key,
                     workspace, out);
}

}  // namespace forebay::pipeline

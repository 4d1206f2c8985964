#include "server/pipeline/user_code.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "proto/raw_image.h"
#include "proto/shm_layout.h"
#include "server/base/check.h"

namespace forebay::pipeline {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 40;
constexpr std::uint64_t kMaxExtent = 65535;
// The batch has one dimension more.
constexpr int kMaxDimensions = static_cast<int>(proto::kMaxRank) - 1;
constexpr std::uint64_t kHeader = sizeof(proto::RawImageHeader);

bool IsImage(const TensorType& type) {
  const auto is_extent = [](std::uint64_t extent) {
    return extent >= 1 && extent <= kMaxExtent;
  };
  return type.dtype == proto::DType::kUint8 && type.shape.size() == 3 &&
         is_extent(type.shape[0]) && is_extent(type.shape[1]) &&
         (type.shape[2] == 1 || type.shape[2] == 3);
}

// Where a raw image of that type has its pixels.
absl::Span<std::uint8_t> LayHeader(const TensorType& type,
                                   absl::Span<std::uint8_t> desk) {
  const proto::RawImageHeader header = {
      .magic = proto::kRawImageMagic,
      .width = static_cast<std::uint32_t>(type.shape[1]),
      .height = static_cast<std::uint32_t>(type.shape[0]),
      .channels = static_cast<std::uint32_t>(type.shape[2])};
  std::memcpy(desk.data(), &header, sizeof(header));
  return desk.subspan(kHeader, type.bytes);
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

std::uint64_t UserCode::desk_bytes() const {
  const std::uint64_t bytes = kHeader + std::max(input_.bytes, result_.bytes);
  return (bytes + 7) / 8 * 8;
}

absl::Span<std::uint8_t> UserCode::Input(absl::Span<std::uint8_t> desk) const {
  FOREBAY_CHECK(desk.size() >= desk_bytes());
  return LayHeader(input_, desk);
}

absl::Status UserCode::RunAfter(absl::Span<std::uint8_t> desk,
                                const SampleKey& key, Workspace& workspace,
                                absl::Span<std::uint8_t> out) const {
  FOREBAY_CHECK(desk.size() >= desk_bytes());
  if (after_ == nullptr) {
    FOREBAY_CHECK(out.size() == result_.bytes);
    std::copy_n(desk.data() + kHeader, out.size(), out.data());
    return absl::OkStatus();
  }
  const absl::Span<const std::uint8_t> pixels = LayHeader(result_, desk);
  return after_->Run({desk.data(), kHeader + pixels.size()}, key, workspace,
                     out);
}

}  // namespace forebay::pipeline

// Reads raw images (proto/raw_image.h). The sink gets RGB rows straight from
// the file, without a copy. A sink may read kStripPadding bytes behind a strip,
// so the image's last rows are copied to strip_, which has padding. Gray pixels
// are widened to RGB in strip_.

#include "server/pipeline/decode/raw_decoder.h"

#include <algorithm>
#include <cstring>

#include "proto/raw_image.h"
#include "server/base/status.h"

namespace forebay::pipeline::decode {
namespace {

constexpr std::uint32_t kStripRows = 8;
constexpr std::size_t kColors = 3;

}  // namespace

absl::StatusOr<ImageInfo> RawDecoder::Open(
    absl::Span<const std::uint8_t> encoded) {
  pixels_ = {};
  proto::RawImageHeader header{};
  if (encoded.size() >= sizeof(header)) {
    std::memcpy(&header, encoded.data(), sizeof(header));
  }
  if (header.magic != proto::kRawImageMagic) {
    return absl::DataLossError("is not a raw image");
  }
  if (header.width == 0 || header.height == 0 ||
      (header.channels != 1 && header.channels != kColors)) {
    return absl::DataLossError("is a corrupt raw image");
  }
  const std::uint64_t pixels = std::uint64_t{header.width} * header.height;
  const ImageInfo info = {
      header.width, header.height,
      kStripRows * (std::uint64_t{header.width} * kColors) + kStripPadding};
  FOREBAY_RETURN_IF_ERROR(CheckLimits("raw", info, limits_));
  const std::uint64_t held = encoded.size() - sizeof(header);
  // The check divides, because `pixels` times the channels might overflow.
  if (held % header.channels != 0 || held / header.channels != pixels) {
    return absl::DataLossError(held / header.channels < pixels
                                   ? "is a truncated raw image"
                                   : "is a corrupt raw image");
  }
  info_ = info;
  channels_ = header.channels;
  pixels_ = encoded.subspan(sizeof(header));
  return info_;
}

absl::Span<const std::uint8_t> RawDecoder::RowOf(const Region& region,
                                                 std::uint32_t row) const {
  const std::size_t first =
      (std::size_t{region.top} + row) * info_.width + region.left;
  return pixels_.subspan(first * channels_,
                         std::size_t{region.width} * channels_);
}

std::uint32_t RawDecoder::RowsInPlace(const Region& region) const {
  if (channels_ != kColors) return 0;
  std::uint32_t rows = region.height;
  // A sink may read kStripPadding bytes behind a strip. Rows with fewer bytes
  // behind them in the file are copied, and do not count here.
  const std::uint8_t* const end = pixels_.data() + pixels_.size();
  while (rows > 0) {
    const absl::Span<const std::uint8_t> last = RowOf(region, rows - 1);
    const auto behind =
        static_cast<std::size_t>(end - (last.data() + last.size()));
    if (behind >= kStripPadding) break;
    --rows;
  }
  return rows;
}

void RawDecoder::Copy(absl::Span<const std::uint8_t> row,
                      std::uint8_t* rgb) const {
  if (channels_ == kColors) {
    std::memcpy(rgb, row.data(), row.size());
    return;
  }
  for (const std::uint8_t gray : row) {
    std::memset(rgb, gray, kColors);
    rgb += kColors;
  }
}

absl::Status RawDecoder::Decode(const Region& region, RowSink& sink) {
  if (pixels_.empty()) {
    return absl::FailedPreconditionError("no image is open");
  }
  if (region.width == 0 || region.height == 0 || region.width > info_.width ||
      region.height > info_.height ||
      region.left > info_.width - region.width ||
      region.top > info_.height - region.height) {
    pixels_ = {};
    return absl::InvalidArgumentError("the region leaves the image");
  }
  const std::uint32_t in_place = RowsInPlace(region);
  std::uint32_t done = 0;
  while (done < in_place) {
    const std::uint32_t count = std::min(kStripRows, in_place - done);
    sink.Rows(done, count, RowOf(region, done).data(),
              std::size_t{info_.width} * kColors);
    done += count;
  }
  const std::size_t stride = std::size_t{region.width} * kColors;
  if (done < region.height) strip_.resize(kStripRows * stride + kStripPadding);
  while (done < region.height) {
    const std::uint32_t count = std::min(kStripRows, region.height - done);
    for (std::uint32_t i = 0; i < count; ++i) {
      Copy(RowOf(region, done + i), strip_.data() + i * stride);
    }
    sink.Rows(done, count, strip_.data(), stride);
    done += count;
  }
  pixels_ = {};
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::decode

#include "server/pipeline/decode/upright_decoder.h"

#include <algorithm>
#include <utility>

#include "server/base/status.h"
#include "server/pipeline/decode/orientation.h"

namespace forebay::pipeline::decode {
namespace {

// Largest buffer, in bytes, that is kept between images. Larger ones are freed.
constexpr std::size_t kKeptBytes = 1 << 20;

}  // namespace

absl::StatusOr<ImageInfo> UprightDecoder::Open(
    absl::Span<const std::uint8_t> encoded) {
  turn_ = {};
  return decoder_.Open(encoded);
}

absl::StatusOr<ImageInfo> UprightDecoder::OpenUpright(
    absl::Span<const std::uint8_t> encoded) {
  turn_ = {};
  reduction_ = {};
  FOREBAY_ASSIGN_OR_RETURN(stored_, decoder_.Open(encoded));
  // The container's own orientation has precedence over the metadata's.
  turn_ = TurnOf(stored_.orientation != 0 ? stored_.orientation
                                          : OrientationOf(encoded));
  ImageInfo turned = stored_;
  if (!turn_.any()) return turned;
  if (turn_.transposed) std::swap(turned.width, turned.height);
  turned.scratch_bytes += TurnedBytes(turned.width, turned.height);
  FOREBAY_RETURN_IF_ERROR(CheckLimits("turned", turned, limits_));
  return turned;
}

Reduction UprightDecoder::Reduce(std::uint32_t factor) {
  reduction_ = decoder_.Reduce(factor);
  Reduction turned = reduction_;
  // The last reduced pixel may stand for fewer columns or rows than the others.
  // In a mirrored image, this pixel comes first.
  const auto missing = [&](std::uint32_t length) {
    return reduction_.Reduced(length) * reduction_.factor - length;
  };
  if (turn_.left_right) turned.left = missing(stored_.width);
  if (turn_.top_bottom) turned.top = missing(stored_.height);
  if (turn_.transposed) std::swap(turned.left, turned.top);
  return turned;
}

absl::Status UprightDecoder::Decode(const Region& region, RowSink& sink) {
  if (!turn_.any()) return decoder_.Decode(region, sink);
  // Decode is called once for each Open, so turn_ is cleared here.
  const Rotation turn = std::exchange(turn_, {});
  const std::uint32_t width = reduction_.Reduced(stored_.width);
  const std::uint32_t height = reduction_.Reduced(stored_.height);
  if (!LiesIn(region, turn.transposed ? height : width,
              turn.transposed ? width : height)) {
    return absl::InvalidArgumentError("the region leaves the image");
  }
  const Region stored = StoredRegion(turn, width, height, region);
  TurnedRows rows(turn, stored, pixels_);
  absl::Status status = decoder_.Decode(stored, rows);
  if (status.ok()) rows.HandOn(sink);
  if (pixels_.capacity() > kKeptBytes)
    std::vector<std::uint8_t>().swap(pixels_);
  return status;
}

}  // namespace forebay::pipeline::decode

#include "server/pipeline/variant_writer.h"

#include <cstddef>
#include <cstring>

#include "proto/raw_image.h"
#include "server/base/check.h"
#include "server/pipeline/decode/region_copy.h"
#include "server/pipeline/transform/convert.h"
#include "server/pipeline/transform/planes.h"

namespace forebay::pipeline {
namespace {

using transform::kColors;

// A target that interleaves rows of three planes into a raw image's RGB pixels.
class MixedRows final : public transform::RowTarget {
 public:
  MixedRows(std::size_t width, std::uint8_t* pixels)
      : width_(width), pixels_(pixels) {}

  void Row(std::int64_t y, std::uint8_t* const (&planes)[kColors]) override {
    const std::uint8_t* rows[kColors] = {planes[0], planes[1], planes[2]};
    transform::InterleaveRows(
        rows, width_, 1,
        pixels_ + static_cast<std::size_t>(y) * width_ * kColors);
  }

 private:
  const std::size_t width_;
  std::uint8_t* const pixels_;
};

}  // namespace

std::uint64_t VariantBytes(const transform::View& view) {
  return sizeof(proto::RawImageHeader) +
         static_cast<std::uint64_t>(view.x.length()) *
             static_cast<std::uint64_t>(view.y.length()) * kColors;
}

absl::Status WriteVariant(SampleView& sample, const decode::ImageInfo& info,
                          bool whole, decode::ImageDecoder& decoder,
                          absl::Span<std::uint8_t> variant) {
  FOREBAY_CHECK(variant.size() == VariantBytes(sample.view()));
  const proto::RawImageHeader header = {
      .magic = proto::kRawImageMagic,
      .width = static_cast<std::uint32_t>(sample.view().x.length()),
      .height = static_cast<std::uint32_t>(sample.view().y.length()),
      .channels = kColors};
  std::memcpy(variant.data(), &header, sizeof(header));
  std::uint8_t* const pixels = variant.data() + sizeof(header);
  // A whole image is copied from the decoder without rendering.
  if (whole) {
    const decode::Region all = {0, 0, info.width, info.height};
    decode::RegionCopy copy(all, pixels);
    return decoder.Decode(all, copy);
  }
  MixedRows rows(header.width, pixels);
  return sample.Render(rows);
}

}  // namespace forebay::pipeline

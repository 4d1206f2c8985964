#include "server/pipeline/decode/avif_metadata.h"

namespace forebay::pipeline::decode {

AvifMetadata::AvifMetadata(absl::Span<const std::uint8_t> file)
    : decoder_(avifDecoderCreate()) {
  if (decoder_ == nullptr) return;
  decoder_->ignoreExif = AVIF_FALSE;
  decoder_->ignoreXMP = AVIF_FALSE;
  // libavif keeps an entry for each frame of an animation, so the number of
  // frames is limited. Frames are not decoded here.
  decoder_->imageCountLimit = 1 << 14;
  decoder_->strictFlags &= ~static_cast<avifStrictFlags>(
      AVIF_STRICT_CLAP_VALID | AVIF_STRICT_PIXI_REQUIRED);
  if (avifDecoderSetIOMemory(decoder_.get(), file.data(), file.size()) !=
          AVIF_RESULT_OK ||
      avifDecoderParse(decoder_.get()) != AVIF_RESULT_OK)
    decoder_ = nullptr;
}

absl::Span<const std::uint8_t> AvifMetadata::exif() const {
  if (decoder_ == nullptr) return {};
  return {decoder_->image->exif.data, decoder_->image->exif.size};
}

absl::Span<const std::uint8_t> AvifMetadata::xmp() const {
  if (decoder_ == nullptr) return {};
  return {decoder_->image->xmp.data, decoder_->image->xmp.size};
}

}  // namespace forebay::pipeline::decode

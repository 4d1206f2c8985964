// Chooses a decoder by an image's first bytes. All decoders exist at once, so
// that each can reuse its buffers from image to image.

#include "server/pipeline/decode/any_image_decoder.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/pipeline/decode/format.h"

namespace forebay::pipeline::decode {
namespace {

constexpr absl::string_view kNoImage =
    "is not a JPEG, PNG, WebP, AVIF, GIF, TIFF, BMP or PPM image";

}  // namespace

AnyImageDecoder::AnyImageDecoder(const DecodeLimits& limits)
    : jpeg_(limits),
      png_(limits),
      webp_(limits),
      gif_(limits),
      tiff_(limits),
      bmp_(limits),
      netpbm_(limits),
      avif_(limits),
      raw_(limits) {}

ImageDecoder* AnyImageDecoder::DecoderOf(Format format) {
  switch (format) {
    case Format::kJpeg:
      return &jpeg_;
    case Format::kPng:
      return &png_;
    case Format::kWebp:
      return &webp_;
    case Format::kGif:
      return &gif_;
    case Format::kTiff:
      return &tiff_;
    case Format::kBmp:
      return &bmp_;
    case Format::kNetpbm:
      return &netpbm_;
    case Format::kAvif:
      return &avif_;
    case Format::kRaw:
      return &raw_;
    case Format::kOther:
      break;
  }
  return nullptr;
}

absl::StatusOr<ImageInfo> AnyImageDecoder::Open(
    absl::Span<const std::uint8_t> encoded) {
  opened_ = nullptr;
  if (encoded.empty()) return absl::DataLossError("is an empty file");
  const FormatGuess guess = GuessFormat(encoded);
  ImageDecoder* const decoder = DecoderOf(guess.format);
  if (decoder == nullptr) {
    if (guess.description.empty()) {
      return absl::DataLossError(kNoImage);
    }
    return absl::DataLossError(absl::StrCat(
        kNoImage, " but looks like ",
        absl::string_view(guess.description.data(), guess.description.size())));
  }
  absl::StatusOr<ImageInfo> info = decoder->Open(encoded);
  if (info.ok()) opened_ = decoder;
  return info;
}

Reduction AnyImageDecoder::Reduce(std::uint32_t factor) {
  return opened_ == nullptr ? Reduction() : opened_->Reduce(factor);
}

absl::Status AnyImageDecoder::Decode(const Region& region, RowSink& sink) {
  if (opened_ == nullptr) {
    return absl::FailedPreconditionError("no image is open");
  }
  ImageDecoder* decoder = opened_;
  opened_ = nullptr;
  return decoder->Decode(region, sink);
}

}  // namespace forebay::pipeline::decode

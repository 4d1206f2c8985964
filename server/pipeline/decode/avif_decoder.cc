// Decodes AVIF images by libavif. dav1d decompresses the whole frame to YUV
// planes. Only the region and a margin around it are then converted to RGB. A
// chroma sample covers a pair of pixels, and upsampling looks at neighbouring
// samples. With the margin, the region's pixels are the same as if the whole
// frame were converted.

#include "server/pipeline/decode/avif_decoder.h"

#include <avif/avif.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/pipeline/decode/av1_frames.h"

namespace forebay::pipeline::decode {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

// Number of rows that the sink is given at a time.
constexpr std::uint32_t kStripRows = 8;
constexpr std::uint32_t kColors = 3;
constexpr std::uint32_t kColorsAndAlpha = 4;
// Number of pixels converted on each side of the region. The chroma upsampling
// of a pixel at the region's edge looks at pixels beyond the edge.
constexpr std::uint32_t kMargin = 2;
// The most frames of an animation; libavif keeps an entry for each.
constexpr std::uint32_t kMostFrames = 16384;
// Bytes that libavif and dav1d need for an image of any size.
constexpr std::uint64_t kLibraryBytes = 4 << 20;
// Largest buffer, in bytes, that is kept between images. Larger ones are freed.
constexpr std::size_t kKeptBytes = 1 << 20;

// Frees objects of libavif.
struct Destroyer {
  void operator()(avifDecoder* decoder) const { avifDecoderDestroy(decoder); }
  void operator()(avifImage* image) const { avifImageDestroy(image); }
};

absl::Status StatusOf(avifResult result) {
  switch (result) {
    case AVIF_RESULT_OK:
      return absl::OkStatus();
    case AVIF_RESULT_OUT_OF_MEMORY:
      return absl::ResourceExhaustedError(
          "needs more memory to decode than there is");
    case AVIF_RESULT_TRUNCATED_DATA:
    case AVIF_RESULT_WAITING_ON_IO:
      return absl::DataLossError("is a truncated AVIF image");
    case AVIF_RESULT_INVALID_FTYP:
      return absl::DataLossError("is not an AVIF image");
    default:
      return absl::DataLossError(absl::StrCat("is a corrupt AVIF image: ",
                                              avifResultToString(result)));
  }
}

// Returns the EXIF orientation to which Pillow converts the file's rotation and
// mirroring.
std::uint32_t OrientationOf(const avifImage& image) {
  const bool mirrored = (image.transformFlags & AVIF_TRANSFORM_IMIR) != 0;
  const bool left_right = image.imir.mode == 1;
  const int angle =
      (image.transformFlags & AVIF_TRANSFORM_IROT) != 0 ? image.irot.angle : 0;
  // The angle counts quarters of a turn, anti-clockwise.
  switch (angle) {
    case 1:
      return !mirrored ? 8 : left_right ? 7 : 5;
    case 2:
      return !mirrored ? 3 : left_right ? 4 : 2;
    case 3:
      return !mirrored ? 6 : left_right ? 5 : 7;
    default:
      return !mirrored ? 1 : left_right ? 2 : 4;
  }
}

// Whether Pillow's version of libavif drops the low bits of samples of more
// than 8 bits before it converts them. Newer versions drop these bits wherever
// libyuv does the conversion.
bool DropsLowBits(const avifImage& image) {
  switch (image.matrixCoefficients) {
    case AVIF_MATRIX_COEFFICIENTS_BT709:
    case AVIF_MATRIX_COEFFICIENTS_UNSPECIFIED:
    case AVIF_MATRIX_COEFFICIENTS_BT470BG:
    case AVIF_MATRIX_COEFFICIENTS_BT601:
    case AVIF_MATRIX_COEFFICIENTS_BT2020_NCL:
    case AVIF_MATRIX_COEFFICIENTS_CHROMA_DERIVED_NCL:
      return image.depth > 8 && image.alphaPlane == nullptr &&
             image.yuvFormat != AVIF_PIXEL_FORMAT_YUV400;
    default:
      return false;
  }
}

// A range of pixels of one axis.
struct Span {
  std::uint32_t begin = 0;
  std::uint32_t length = 0;
};

// Returns the pixels of an axis that are converted for a region, which has
// `length` pixels from `begin` on. The axis has `all` pixels.
Span WithMargin(std::uint32_t begin, std::uint32_t length, std::uint32_t all) {
  // A chroma sample covers two pixels, so the range begins with an even pixel.
  const std::uint32_t first = begin < kMargin ? 0 : (begin - kMargin) & ~1U;
  return {first, std::min(all, begin + length + kMargin) - first};
}

}  // namespace

// Decodes one image after another. Not thread-safe.
class AvifDecoder::Codec {
 public:
  explicit Codec(const DecodeLimits& limits) : limits_(limits) {}

  absl::StatusOr<ImageInfo> Open(Bytes encoded);
  absl::Status Decode(const Region& region, RowSink& sink);

 private:
  absl::Status ReadHeader(Bytes encoded);
  // Returns the number of bytes that decoding the opened image needs, rounded
  // up.
  std::uint64_t ScratchBytes(Bytes encoded) const;
  // Converts a part of the frame to RGB, or RGBA, in pixels_.
  absl::Status Convert(const Region& part);
  // Replaces the planes of `view` by planes of 8 bits, which lie in narrow_.
  void DropLowBits(avifImage* view);
  // Gives the region's rows to the sink. `part` is the part of the frame that
  // pixels_ holds.
  void HandOn(const Region& region, const Region& part, RowSink& sink);
  // Frees the decoder, and buffers that are too large to keep.
  void Close();

  const DecodeLimits limits_;
  std::unique_ptr<avifDecoder, Destroyer> decoder_;
  ImageInfo info_;
  // Channels of pixels_, 3 or 4.
  std::uint32_t channels_ = kColors;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::uint8_t> narrow_;
  std::vector<std::uint8_t> strip_;
};

void AvifDecoder::Codec::Close() {
  decoder_ = nullptr;
  for (std::vector<std::uint8_t>* bytes : {&pixels_, &narrow_}) {
    if (bytes->capacity() > kKeptBytes)
      std::vector<std::uint8_t>().swap(*bytes);
  }
}

std::uint64_t AvifDecoder::Codec::ScratchBytes(Bytes encoded) const {
  const avifImage& image = *decoder_->image;
  // dav1d decodes whole superblocks, of at most 128 pixels.
  constexpr std::uint64_t kBlock = 128;
  const std::uint64_t width = (info_.width + kBlock - 1) / kBlock * kBlock;
  const std::uint64_t height = (info_.height + kBlock - 1) / kBlock * kBlock;
  // Number of samples for each two pixels, in all planes.
  const std::uint64_t samples = image.yuvFormat == AVIF_PIXEL_FORMAT_YUV444 ? 6
                                : image.yuvFormat == AVIF_PIXEL_FORMAT_YUV422
                                    ? 4
                                    : 3;
  const std::uint64_t picture =
      width * height * samples / 2 * (image.depth > 8 ? 2 : 1);
  const std::uint64_t narrow =
      image.depth > 8 ? width * height * samples / 2 : 0;
  avifExtent extent = {};
  std::uint64_t frames = kMostAv1Frames;
  if (avifDecoderNthImageMaxExtent(decoder_.get(), 0, &extent) ==
          AVIF_RESULT_OK &&
      extent.offset <= encoded.size() &&
      extent.size <= encoded.size() - extent.offset) {
    frames = CountAv1Frames(encoded.subspan(extent.offset, extent.size));
  }
  // The sum below counts the pictures that the libraries may hold at a time.
  // dav1d keeps up to `frames` pictures, and another one with film grain.
  // libavif keeps a picture for an image of several tiles, and planes of alpha.
  // dav1d's prediction state takes about kStateBytes for each pixel.
  constexpr std::uint64_t kStateBytes = 2;
  return kLibraryBytes + picture * (frames + 2) + narrow +
         kStateBytes * width * height +
         kColorsAndAlpha * (std::uint64_t{info_.width} * info_.height) +
         kStripRows * (kColors * std::uint64_t{info_.width}) + kStripPadding;
}

absl::Status AvifDecoder::Codec::ReadHeader(Bytes encoded) {
  avifDecoder* const decoder = decoder_.get();
  decoder->codecChoice = AVIF_CODEC_CHOICE_DAV1D;
  decoder->maxThreads = 1;
  decoder->ignoreExif = AVIF_TRUE;
  decoder->ignoreXMP = AVIF_TRUE;
  decoder->imageCountLimit = kMostFrames;
  // Pillow also reads files that lack a "pixi" property, or whose "clap"
  // property is invalid.
  decoder->strictFlags &= ~static_cast<avifStrictFlags>(
      AVIF_STRICT_CLAP_VALID | AVIF_STRICT_PIXI_REQUIRED);
  FOREBAY_RETURN_IF_ERROR(StatusOf(
      avifDecoderSetIOMemory(decoder, encoded.data(), encoded.size())));
  FOREBAY_RETURN_IF_ERROR(StatusOf(avifDecoderParse(decoder)));
  const avifImage& image = *decoder->image;
  info_.width = image.width;
  info_.height = image.height;
  // If the file has neither rotation nor mirroring, its XMP packet may have an
  // orientation. The number 0 tells callers to look for one there.
  const std::uint32_t orientation = OrientationOf(image);
  info_.orientation = orientation == 1 ? 0 : orientation;
  FOREBAY_RETURN_IF_ERROR(CheckLimits("AVIF", info_, limits_));
  info_.scratch_bytes = ScratchBytes(encoded);
  FOREBAY_RETURN_IF_ERROR(CheckLimits("AVIF", info_, limits_));
  // dav1d refuses frames that are larger than the file says.
  decoder->imageSizeLimit = info_.width * info_.height;
  return absl::OkStatus();
}

absl::StatusOr<ImageInfo> AvifDecoder::Codec::Open(Bytes encoded) {
  Close();
  info_ = {};
  decoder_.reset(avifDecoderCreate());
  if (decoder_ == nullptr) return StatusOf(AVIF_RESULT_OUT_OF_MEMORY);
  if (absl::Status status = ReadHeader(encoded); !status.ok()) {
    Close();
    return status;
  }
  return info_;
}

void AvifDecoder::Codec::DropLowBits(avifImage* view) {
  avifPixelFormatInfo format = {};
  avifGetPixelFormatInfo(view->yuvFormat, &format);
  const std::uint32_t shift = view->depth - 8;
  const auto width = [&](int plane) {
    const std::uint32_t by = plane == AVIF_CHAN_Y ? 0 : format.chromaShiftX;
    return (view->width + by) >> by;
  };
  const auto height = [&](int plane) {
    const std::uint32_t by = plane == AVIF_CHAN_Y ? 0 : format.chromaShiftY;
    return (view->height + by) >> by;
  };
  std::size_t bytes = 0;
  for (int plane = 0; plane < AVIF_PLANE_COUNT_YUV; ++plane)
    bytes += std::size_t{width(plane)} * height(plane);
  narrow_.resize(bytes);
  std::uint8_t* to = narrow_.data();
  for (int plane = 0; plane < AVIF_PLANE_COUNT_YUV; ++plane) {
    std::uint8_t* const first = to;
    for (std::uint32_t y = 0; y < height(plane); ++y) {
      const std::uint8_t* const row =
          view->yuvPlanes[plane] + std::size_t{y} * view->yuvRowBytes[plane];
      for (std::uint32_t x = 0; x < width(plane); ++x) {
        std::uint16_t sample = 0;
        std::memcpy(&sample, row + x * sizeof(sample), sizeof(sample));
        *to++ = static_cast<std::uint8_t>(sample >> shift);
      }
    }
    view->yuvPlanes[plane] = first;
    view->yuvRowBytes[plane] = width(plane);
  }
  view->depth = 8;
}

absl::Status AvifDecoder::Codec::Convert(const Region& part) {
  const std::unique_ptr<avifImage, Destroyer> view(avifImageCreateEmpty());
  if (view == nullptr) return StatusOf(AVIF_RESULT_OUT_OF_MEMORY);
  const avifCropRect rectangle = {part.left, part.top, part.width, part.height};
  FOREBAY_RETURN_IF_ERROR(
      StatusOf(avifImageSetViewRect(view.get(), decoder_->image, &rectangle)));
  if (DropsLowBits(*view)) DropLowBits(view.get());
  // The RGB pixels need an alpha channel; without it, libavif would multiply
  // the colors by alpha.
  const bool with_alpha = view->alphaPlane != nullptr;
  avifRGBImage rgb;
  avifRGBImageSetDefaults(&rgb, view.get());
  rgb.depth = 8;
  channels_ = with_alpha ? kColorsAndAlpha : kColors;
  rgb.format = with_alpha ? AVIF_RGB_FORMAT_RGBA : AVIF_RGB_FORMAT_RGB;
  rgb.rowBytes = channels_ * part.width;
  pixels_.resize(std::size_t{rgb.rowBytes} * part.height);
  rgb.pixels = pixels_.data();
  return StatusOf(avifImageYUVToRGB(view.get(), &rgb));
}

void AvifDecoder::Codec::HandOn(const Region& region, const Region& part,
                                RowSink& sink) {
  const std::size_t stride = std::size_t{kColors} * region.width;
  strip_.resize(kStripRows * stride + kStripPadding);
  const std::size_t row_bytes = std::size_t{channels_} * part.width;
  for (std::uint32_t done = 0; done < region.height;) {
    const std::uint32_t count = std::min(kStripRows, region.height - done);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint8_t* from =
          pixels_.data() + (region.top - part.top + done + i) * row_bytes +
          std::size_t{channels_} * (region.left - part.left);
      std::uint8_t* to = strip_.data() + i * stride;
      if (channels_ == kColors) {
        std::memcpy(to, from, stride);
        continue;
      }
      for (std::uint32_t x = 0; x < region.width; ++x) {
        std::memcpy(to, from, kColors);
        to += kColors;
        from += channels_;
      }
    }
    sink.Rows(done, count, strip_.data(), stride);
    done += count;
  }
}

absl::Status AvifDecoder::Codec::Decode(const Region& region, RowSink& sink) {
  if (decoder_ == nullptr)
    return absl::FailedPreconditionError("no image is open");
  absl::Status status;
  if (!LiesIn(region, info_.width, info_.height)) {
    status = absl::InvalidArgumentError("the region leaves the image");
  } else {
    status = StatusOf(avifDecoderNthImage(decoder_.get(), 0));
    const avifImage& image = *decoder_->image;
    if (status.ok() &&
        (image.width != info_.width || image.height != info_.height)) {
      status = absl::DataLossError("is a corrupt AVIF image");
    }
    if (status.ok()) {
      const Span columns = WithMargin(region.left, region.width, info_.width);
      const Span rows = WithMargin(region.top, region.height, info_.height);
      const Region part = {columns.begin, rows.begin, columns.length,
                           rows.length};
      status = Convert(part);
      if (status.ok()) HandOn(region, part, sink);
    }
  }
  Close();
  return status;
}

AvifDecoder::AvifDecoder(const DecodeLimits& limits)
    : codec_(std::make_unique<Codec>(limits)) {}

AvifDecoder::~AvifDecoder() = default;

absl::StatusOr<ImageInfo> AvifDecoder::Open(Bytes encoded) {
  return codec_->Open(encoded);
}

absl::Status AvifDecoder::Decode(const Region& region, RowSink& sink) {
  return codec_->Decode(region, sink);
}

}  // namespace forebay::pipeline::decode

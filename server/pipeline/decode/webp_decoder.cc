// Decodes WebP images by libwebp. RFC 9649 describes the container and the
// lossless format. libwebp crops by itself, and decodes rows down to the
// region's end. A lossy image has one chroma sample for each 2 x 2 pixels, and
// upsampling looks at neighbouring samples. With a margin around the region,
// the region's pixels are the same as those of a full decode. Memory is bounded
// before decoding: see ScratchBytes.

#include "server/pipeline/decode/webp_decoder.h"

#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>

#include "server/base/status.h"
#include "server/pipeline/decode/vp8l_header.h"

namespace forebay::pipeline::decode {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

constexpr std::uint32_t kStripRows = 8;
constexpr std::uint32_t kColors = 3;
// Number of pixels decoded on each side of the region. In a lossy image, the
// chroma upsampling of a pixel at the region's edge looks at pixels beyond the
// edge.
constexpr std::uint32_t kMargin = 2;
// Bytes that libwebp needs for an image of any size.
constexpr std::uint64_t kLibraryBytes = 128 << 10;
// Bytes that libwebp's demuxer keeps for each chunk.
constexpr std::uint64_t kChunkStateBytes = 96;
// Largest buffer, in bytes, that is kept between images. Larger ones are freed.
constexpr std::size_t kKeptBytes = 1 << 20;

// Bytes of the WebP file header (RFC 9649): "RIFF", size, "WEBP".
constexpr std::size_t kFileHeaderBytes = 12;
// Bytes of a RIFF chunk's type and size.
constexpr std::size_t kChunkHeaderBytes = 8;

bool HasType(Bytes chunk, std::string_view type) {
  return std::memcmp(chunk.data(), type.data(), type.size()) == 0;
}

// Returns the size in bytes of the first chunk, with its header and its padding
// to an even number. `chunks` has at least one chunk.
std::uint64_t ChunkBytes(Bytes chunks) {
  std::uint64_t size = 0;
  for (int i = 7; i >= 4; --i) size = size << 8 | chunks[i];
  return kChunkHeaderBytes + size + size % 2;
}

// Returns how many chunks a file has at its top level.
std::uint64_t CountChunks(Bytes file) {
  std::uint64_t count = 0;
  for (std::uint64_t at = kFileHeaderBytes;
       at <= file.size() && file.size() - at >= kChunkHeaderBytes;
       at += ChunkBytes(file.subspan(at))) {
    ++count;
  }
  return count;
}

// Returns the frame without the chunks that come before the image itself, such
// as the alpha chunk.
Bytes WithoutOtherChunks(Bytes frame) {
  while (frame.size() >= kChunkHeaderBytes && !HasType(frame, "VP8 ") &&
         !HasType(frame, "VP8L")) {
    const std::uint64_t size = ChunkBytes(frame);
    if (size >= frame.size()) return {};
    frame.remove_prefix(size);
  }
  return frame.size() >= kChunkHeaderBytes ? frame : Bytes();
}

absl::Status Truncated() {
  return absl::DataLossError("is a truncated WebP image");
}

absl::Status Corrupt() {
  return absl::DataLossError("is a corrupt WebP image");
}

absl::Status StatusOf(VP8StatusCode code) {
  switch (code) {
    case VP8_STATUS_OK:
      return absl::OkStatus();
    case VP8_STATUS_OUT_OF_MEMORY:
      return absl::ResourceExhaustedError(
          "needs more memory to decode than there is");
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      return Truncated();
    default:
      return Corrupt();
  }
}

// Returns the size in bytes of a lossless image's Huffman tables. libwebp
// allocates all tables in one piece, even tables that are not used.
// `has_header` is false for a lossless alpha channel, whose stream lacks the
// header.
std::uint64_t TableBytes(Bytes chunk, std::uint64_t pixels,
                         std::uint64_t blocks, bool has_header) {
  // Number of codes in a set, by the number of bits of a color cache index
  // (libwebp's kTableSize).
  constexpr std::uint64_t kCodes[] = {2954, 2956, 2958, 2962, 2970, 2986,
                                      3018, 3082, 3212, 3468, 3980, 5004};
  constexpr std::uint64_t kCodeBytes = 4;
  // Bytes of a set besides its codes.
  constexpr std::uint64_t kSetBytes = 640;
  constexpr std::uint64_t kMostSets = 65536;
  constexpr std::uint64_t kMostUnused = 1000;
  constexpr std::uint64_t kMostSmallPixels = 1 << 20;
  constexpr std::uint64_t kNumberBytes = 4;
  const auto tables =
      has_header
          ? ReadVp8lTables(chunk.subspan(kChunkHeaderBytes), kMostSmallPixels)
          : std::nullopt;
  if (tables.has_value()) {
    return kNumberBytes * kMostSets +
           tables->sets * (kCodes[tables->cache_bits] * kCodeBytes + kSetBytes);
  }
  // Each set takes at least 20 bits in the file. This bounds the number of
  // sets.
  const std::uint64_t sets =
      std::min({std::max(blocks, std::min(pixels, kMostUnused)),
                std::uint64_t{chunk.size()} * 8 / 20 + 1, kMostSets});
  return kNumberBytes * kMostSets +
         sets * (kCodes[std::size(kCodes) - 1] * kCodeBytes + kSetBytes);
}

// A range of pixels of one axis.
struct Span {
  std::uint32_t begin = 0;
  std::uint32_t length = 0;
};

// Returns the part of a frame that a region needs, in the frame's coordinates.
Span PartOf(std::uint32_t region_begin, std::uint32_t region_length,
            std::uint32_t frame_begin, std::uint32_t frame_length) {
  const std::uint32_t end =
      std::min(region_begin + region_length, frame_begin + frame_length);
  const std::uint32_t begin = std::max(region_begin, frame_begin);
  if (begin >= end) return {};
  const std::uint32_t first = begin - frame_begin;
  // A chroma sample covers two pixels, so the part begins with an even pixel.
  const std::uint32_t part_begin =
      first < kMargin ? 0 : (first - kMargin) & ~1U;
  const std::uint32_t part_end =
      std::min(frame_length, end - frame_begin + kMargin);
  return {part_begin, part_end - part_begin};
}

}  // namespace

absl::Status WebpDecoder::ReadContainer(Bytes encoded) {
  const WebPData data = {encoded.data(), encoded.size()};
  WebPDemuxState state = WEBP_DEMUX_PARSE_ERROR;
  const std::unique_ptr<WebPDemuxer, decltype(&WebPDemuxDelete)> demuxer(
      WebPDemuxPartial(&data, &state), WebPDemuxDelete);
  if (demuxer == nullptr || state == WEBP_DEMUX_PARSE_ERROR) {
    return state == WEBP_DEMUX_PARSING_HEADER ? Truncated() : Corrupt();
  }
  if (state != WEBP_DEMUX_DONE) return Truncated();
  info_.width = WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_WIDTH);
  info_.height = WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_HEIGHT);
  WebPIterator first = {};
  if (WebPDemuxGetFrame(demuxer.get(), 1, &first) == 0) return Corrupt();
  const Bytes frame = {first.fragment.bytes, first.fragment.size};
  frame_bytes_ = WithoutOtherChunks(frame);
  // Alpha is decoded and then dropped, because Pillow refuses an image whose
  // alpha is damaged.
  const bool has_alpha =
      frame.size() >= kChunkHeaderBytes && HasType(frame, "ALPH");
  alpha_and_frame_ = has_alpha ? frame : Bytes();
  frame_ = {static_cast<std::uint32_t>(first.x_offset),
            static_cast<std::uint32_t>(first.y_offset),
            static_cast<std::uint32_t>(first.width),
            static_cast<std::uint32_t>(first.height)};
  WebPDemuxReleaseIterator(&first);
  if (frame_bytes_.empty()) return Corrupt();
  lossless_ = HasType(frame_bytes_, "VP8L");
  WebPBitstreamFeatures features = {};
  const VP8StatusCode code =
      WebPGetFeatures(frame_bytes_.data(), frame_bytes_.size(), &features);
  if (code != VP8_STATUS_OK) return StatusOf(code);
  // Decode relies on the frame's size and on its place in the image, so both
  // are checked.
  if (features.width != static_cast<int>(frame_.width) ||
      features.height != static_cast<int>(frame_.height) ||
      frame_.left > info_.width || frame_.width > info_.width - frame_.left ||
      frame_.top > info_.height || frame_.height > info_.height - frame_.top) {
    return Corrupt();
  }
  return absl::OkStatus();
}

// Counts the bytes for a region that is the whole image.
std::uint64_t WebpDecoder::ScratchBytes(Bytes encoded) const {
  const std::uint64_t width = frame_.width;
  const std::uint64_t pixels = width * frame_.height;
  std::uint64_t bytes = kLibraryBytes + kColors * pixels + kStripPadding +
                        kStripRows * (kColors * std::uint64_t{info_.width}) +
                        kChunkStateBytes * CountChunks(encoded);
  if (!lossless_) {
    // libwebp holds rows of blocks, with the blocks' coefficients.
    constexpr std::uint64_t kColumnBytes = 160;
    bytes += kColumnBytes * width;
    if (alpha_and_frame_.empty()) return bytes;
    // The alpha plane has a byte for each pixel.
    bytes += pixels;
  }
  constexpr std::uint64_t kPixelBytes = 4;
  constexpr std::uint64_t kCachedRows = 17;
  // Subresolution images have at most one pixel for each block of 4 x 4.
  constexpr std::uint64_t kSmallImages = 3;
  const std::uint64_t blocks =
      ((width + 3) / 4) * ((std::uint64_t{frame_.height} + 3) / 4);
  bytes += kPixelBytes * (pixels + kCachedRows * width + kSmallImages * blocks);
  return bytes + TableBytes(lossless_ ? frame_bytes_ : alpha_and_frame_, pixels,
                            blocks, lossless_);
}

absl::StatusOr<ImageInfo> WebpDecoder::Open(Bytes encoded) {
  frame_bytes_ = {};
  alpha_and_frame_ = {};
  info_ = {};
  if (encoded.size() < kFileHeaderBytes || !HasType(encoded, "RIFF") ||
      !HasType(encoded.subspan(8), "WEBP")) {
    return absl::DataLossError("is not a WebP image");
  }
  WebPBitstreamFeatures features = {};
  FOREBAY_RETURN_IF_ERROR(
      StatusOf(WebPGetFeatures(encoded.data(), encoded.size(), &features)));
  info_.width = static_cast<std::uint32_t>(features.width);
  info_.height = static_cast<std::uint32_t>(features.height);
  info_.scratch_bytes = kChunkStateBytes * CountChunks(encoded);
  FOREBAY_RETURN_IF_ERROR(CheckLimits("WebP", info_, limits_));
  absl::Status status = ReadContainer(encoded);
  if (status.ok()) {
    info_.scratch_bytes = ScratchBytes(encoded);
    status = CheckLimits("WebP", info_, limits_);
  }
  if (!status.ok()) {
    frame_bytes_ = {};
    return status;
  }
  return info_;
}

absl::Status WebpDecoder::DecodePart(const Region& part) {
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) {
    return absl::InternalError("libwebp has another version than its headers");
  }
  const std::size_t stride = std::size_t{kColors} * part.width;
  pixels_.resize(stride * part.height + kStripPadding);
  config.options.use_cropping = 1;
  config.options.crop_left = static_cast<int>(part.left);
  config.options.crop_top = static_cast<int>(part.top);
  config.options.crop_width = static_cast<int>(part.width);
  config.options.crop_height = static_cast<int>(part.height);
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = pixels_.data();
  config.output.u.RGBA.stride = static_cast<int>(stride);
  config.output.u.RGBA.size = stride * part.height;
  const Bytes bytes =
      alpha_and_frame_.empty() ? frame_bytes_ : alpha_and_frame_;
  const VP8StatusCode code = WebPDecode(bytes.data(), bytes.size(), &config);
  WebPFreeDecBuffer(&config.output);
  return StatusOf(code);
}

void WebpDecoder::HandOn(const Region& region, const Region& part,
                         RowSink& sink) {
  const std::uint32_t left = std::max(region.left, frame_.left);
  const std::uint32_t right =
      std::min(region.left + region.width, frame_.left + frame_.width);
  const std::size_t stride = std::size_t{kColors} * region.width;
  strip_.resize(kStripRows * stride + kStripPadding);
  for (std::uint32_t done = 0; done < region.height;) {
    const std::uint32_t count = std::min(kStripRows, region.height - done);
    std::fill(strip_.begin(), strip_.end(), std::uint8_t{0});
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t y = region.top + done + i;
      if (y < frame_.top || y - frame_.top >= frame_.height || left >= right) {
        continue;
      }
      const std::size_t row = y - frame_.top - part.top;
      const std::size_t column = left - frame_.left - part.left;
      std::memcpy(strip_.data() + i * stride +
                      std::size_t{kColors} * (left - region.left),
                  pixels_.data() + kColors * (row * part.width + column),
                  std::size_t{kColors} * (right - left));
    }
    sink.Rows(done, count, strip_.data(), stride);
    done += count;
  }
}

absl::Status WebpDecoder::Decode(const Region& region, RowSink& sink) {
  if (frame_bytes_.empty()) {
    return absl::FailedPreconditionError("no image is open");
  }
  absl::Status status;
  if (region.width == 0 || region.height == 0 || region.width > info_.width ||
      region.height > info_.height ||
      region.left > info_.width - region.width ||
      region.top > info_.height - region.height) {
    status = absl::InvalidArgumentError("the region leaves the image");
  } else {
    const Span columns =
        PartOf(region.left, region.width, frame_.left, frame_.width);
    const Span rows =
        PartOf(region.top, region.height, frame_.top, frame_.height);
    const Region part = {columns.begin, rows.begin, columns.length,
                         rows.length};
    if (part.width > 0 && part.height > 0) status = DecodePart(part);
    if (status.ok()) HandOn(region, part, sink);
  }
  frame_bytes_ = {};
  if (pixels_.capacity() > kKeptBytes) {
    std::vector<std::uint8_t>().swap(pixels_);
  }
  return status;
}

}  // namespace forebay::pipeline::decode

// Decodes TIFF images strip by strip or tile by tile (TIFF 6.0, sections 3 and
// 15).
//
// If strips hold all channels, rows are read one by one, from the strip in
// which the region begins. Tiles, and channels that are stored as planes of
// their own, are decoded in bands. A band is as high as a tile or strip. The
// tiles of one row of tiles, or the strips of all channels, are decoded into
// the band as far as they meet the region. If the image's orientation asks for
// a turn, the part of the stored image that becomes the region is decoded, and
// then turned in memory.

#include "server/pipeline/decode/tiff_decoder.h"

#include <tiffio.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "server/base/status.h"
#include "server/pipeline/decode/tiff_file.h"
#include "server/pipeline/decode/tiff_samples.h"
#include "server/pipeline/decode/turned_rows.h"

namespace forebay::pipeline::decode {
namespace {

constexpr std::uint32_t kStripRows = 8;
constexpr std::size_t kColors = 3;
// Bytes that libtiff and its codecs need for state and tables.
constexpr std::uint64_t kLibraryBytes = 512 << 10;
// Largest buffer, in bytes, that is kept between images. Larger ones are freed.
constexpr std::size_t kKeptBytes = 1 << 20;

// Returns a * b, or the largest number if the product overflows.
std::uint64_t Times(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

// Returns a + b, or the largest number if the sum overflows.
std::uint64_t Plus(std::uint64_t a, std::uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

// The strips or tiles ("pieces") that hold an image's pixels.
struct Blocks {
  bool tiled = false;
  // Size of a piece in pixels.
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t count = 0;
  // Compressed bytes of the longest piece.
  std::uint64_t longest = 0;
};

void GiveBackIfLarge(std::vector<std::uint8_t>& bytes) {
  if (bytes.capacity() > kKeptBytes) std::vector<std::uint8_t>().swap(bytes);
}

}  // namespace

// Decodes one image after another. Not thread-safe.
class TiffDecoder::Codec {
 public:
  explicit Codec(const DecodeLimits& limits) : limits_(limits) {}

  absl::StatusOr<ImageInfo> Open(absl::Span<const std::uint8_t> encoded);
  absl::Status Decode(const Region& region, RowSink& sink);

 private:
  // Reads the directory, and checks sizes against the limits.
  absl::Status ReadHeader(std::uint64_t file_bytes);
  // Reads the pieces' sizes, and checks that they lie within the file.
  absl::Status ReadBlocks(std::uint64_t file_bytes);
  // Returns the number of bytes that decoding needs, rounded up.
  std::uint64_t ScratchBytes() const;
  // Decodes a region of the image as it is stored.
  absl::Status DecodeStored(const Region& region, RowSink& sink);
  // Decodes row by row, from strips of all channels.
  absl::Status DecodeRows(const Region& region, RowSink& sink);
  // Decodes band by band, from tiles or from planes of single channels.
  absl::Status DecodeBands(const Region& region, RowSink& sink);
  // Decodes the piece whose top left pixel is (left, top) of the image. Writes
  // the piece's part of the region to the band.
  absl::Status DecodeBlock(const Region& region, std::uint32_t left,
                           std::uint32_t top, std::uint16_t channel);
  // Returns the image's info, with the size that the image has after its
  // orientation is applied.
  ImageInfo Turned() const {
    ImageInfo turned = info_;
    if (turn_.transposed) std::swap(turned.width, turned.height);
    return turned;
  }
  bool IsByRow() const { return !blocks_.tiled && !samples_.planar; }
  void Close();

  const DecodeLimits limits_;
  TiffFile file_;
  // The image as it is stored.
  ImageInfo info_;
  Rotation turn_;
  TiffSamples samples_;
  Blocks blocks_;
  // A row or piece, as libtiff gives it.
  std::vector<std::uint8_t> block_;
  // RGB pixels of one strip of the region's rows, or of one band.
  std::vector<std::uint8_t> band_;
  // Pixels of the region as it is stored, if the image is turned.
  std::vector<std::uint8_t> turned_;
};

void TiffDecoder::Codec::Close() {
  file_.Close();
  GiveBackIfLarge(block_);
  GiveBackIfLarge(band_);
  GiveBackIfLarge(turned_);
}

absl::Status TiffDecoder::Codec::ReadBlocks(std::uint64_t file_bytes) {
  TIFF* const tiff = file_.get();
  blocks_ = {};
  blocks_.tiled = TIFFIsTiled(tiff) != 0;
  blocks_.width = info_.width;
  if (blocks_.tiled) {
    if (TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &blocks_.width) != 1 ||
        TIFFGetField(tiff, TIFFTAG_TILELENGTH, &blocks_.height) != 1) {
      return file_.FailureStatus();
    }
  } else {
    TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &blocks_.height);
    blocks_.height = std::min(blocks_.height, info_.height);
  }
  if (blocks_.width == 0 || blocks_.height == 0) return file_.FailureStatus();
  const std::uint64_t row_bytes = samples_.RowBytes(blocks_.width);
  const std::uint64_t library_row_bytes =
      blocks_.tiled ? TIFFTileRowSize64(tiff) : TIFFScanlineSize64(tiff);
  if (row_bytes != library_row_bytes) return file_.FailureStatus();
  blocks_.count =
      blocks_.tiled ? TIFFNumberOfTiles(tiff) : TIFFNumberOfStrips(tiff);
  for (std::uint32_t i = 0; i < blocks_.count; ++i) {
    const std::uint64_t offset = TIFFGetStrileOffset(tiff, i);
    const std::uint64_t bytes = TIFFGetStrileByteCount(tiff, i);
    if (offset > file_bytes || bytes > file_bytes - offset) {
      return absl::DataLossError("is a truncated TIFF image");
    }
    blocks_.longest = std::max(blocks_.longest, bytes);
  }
  return absl::OkStatus();
}

std::uint64_t TiffDecoder::Codec::ScratchBytes() const {
  // Bytes of the codecs' state for each pixel of a row. Bytes of the offset and
  // byte count that libtiff keeps for each piece.
  constexpr std::uint64_t kPixelStateBytes = 64;
  constexpr std::uint64_t kPlaceBytes = 16;
  const std::uint64_t row_bytes = samples_.RowBytes(blocks_.width);
  std::uint64_t bytes = kLibraryBytes + kStripPadding +
                        kPlaceBytes * blocks_.count + 2 * blocks_.longest +
                        Times(kPixelStateBytes, blocks_.width) +
                        kColors * std::uint64_t{info_.width} * kStripRows;
  std::uint16_t compression = COMPRESSION_NONE;
  TIFFGetFieldDefaulted(file_.get(), TIFFTAG_COMPRESSION, &compression);
  if (compression == COMPRESSION_JPEG) {
    // libjpeg holds all coefficients of a progressive image, in whole blocks.
    constexpr std::uint64_t kSampleBytes = 2;
    constexpr std::uint64_t kEdge = 64;
    bytes = Plus(bytes,
                 Times(kSampleBytes * samples_.channels,
                       Times(blocks_.width + kEdge, blocks_.height + kEdge)));
  }
  if (turn_.any()) {
    const ImageInfo turned = Turned();
    bytes = Plus(bytes, TurnedBytes(turned.width, turned.height));
  }
  if (IsByRow()) return Plus(bytes, row_bytes);
  const std::uint64_t band_rows = std::min(blocks_.height, info_.height);
  return Plus(Plus(bytes, Times(row_bytes, blocks_.height)),
              Times(kColors * std::uint64_t{info_.width}, band_rows));
}

absl::Status TiffDecoder::Codec::ReadHeader(std::uint64_t file_bytes) {
  TIFF* const tiff = file_.get();
  if (TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &info_.width) != 1 ||
      TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &info_.height) != 1 ||
      info_.width == 0 || info_.height == 0) {
    return file_.FailureStatus();
  }
  FOREBAY_RETURN_IF_ERROR(CheckLimits("TIFF", info_, limits_));
  FOREBAY_ASSIGN_OR_RETURN(samples_, ReadTiffSamples(tiff));
  std::uint16_t orientation = ORIENTATION_TOPLEFT;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_ORIENTATION, &orientation);
  turn_ = TurnOf(orientation);
  FOREBAY_RETURN_IF_ERROR(ReadBlocks(file_bytes));
  info_.scratch_bytes = ScratchBytes();
  FOREBAY_RETURN_IF_ERROR(CheckLimits("TIFF", info_, limits_));
  if (file_.piece_count() > blocks_.count) {
    return absl::DataLossError(
        "is a corrupt TIFF image: it lists more strips or tiles than it has");
  }
  return absl::OkStatus();
}

absl::StatusOr<ImageInfo> TiffDecoder::Codec::Open(
    absl::Span<const std::uint8_t> encoded) {
  Close();
  info_ = {};
  FOREBAY_RETURN_IF_ERROR(file_.Open(encoded, limits_.scratch_bytes));
  if (absl::Status status = ReadHeader(encoded.size()); !status.ok()) {
    Close();
    return status;
  }
  return Turned();
}

absl::Status TiffDecoder::Codec::DecodeRows(const Region& region,
                                            RowSink& sink) {
  block_.resize(samples_.RowBytes(info_.width));
  const std::size_t stride = kColors * region.width;
  band_.resize(kStripRows * stride + kStripPadding);
  // Rows of the same strip that lie above the region must be decompressed
  // first.
  std::uint32_t row = region.top / blocks_.height * blocks_.height;
  const auto read = [&] {
    return TIFFReadScanline(file_.get(), block_.data(), row++, 0) == 1;
  };
  while (row < region.top) {
    if (!read()) return file_.FailureStatus();
  }
  for (std::uint32_t done = 0; done < region.height;) {
    const std::uint32_t count = std::min(kStripRows, region.height - done);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!read()) return file_.FailureStatus();
      samples_.ToRgb(block_.data(), region.left, region.width,
                     band_.data() + i * stride);
    }
    sink.Rows(done, count, band_.data(), stride);
    done += count;
  }
  return absl::OkStatus();
}

absl::Status TiffDecoder::Codec::DecodeBlock(const Region& region,
                                             std::uint32_t left,
                                             std::uint32_t top,
                                             std::uint16_t channel) {
  TIFF* const tiff = file_.get();
  const auto size = static_cast<tmsize_t>(block_.size());
  const tmsize_t got =
      blocks_.tiled
          ? TIFFReadEncodedTile(tiff,
                                TIFFComputeTile(tiff, left, top, 0, channel),
                                block_.data(), size)
          : TIFFReadEncodedStrip(tiff, TIFFComputeStrip(tiff, top, channel),
                                 block_.data(), size);
  const std::uint32_t first_row = std::max(region.top, top);
  const std::uint32_t rows =
      std::min(region.top + region.height - top, blocks_.height);
  const std::uint32_t first = std::max(region.left, left);
  const std::uint32_t count =
      std::min(region.left + region.width - left, blocks_.width) -
      (first - left);
  const std::size_t row_bytes = samples_.RowBytes(blocks_.width);
  if (got < 0 || static_cast<std::size_t>(got) < rows * row_bytes) {
    return file_.FailureStatus();
  }
  const std::size_t stride = kColors * region.width;
  for (std::uint32_t y = first_row - top; y < rows; ++y) {
    const std::uint8_t* row = block_.data() + y * row_bytes;
    std::uint8_t* rgb = band_.data() + (top + y - first_row) * stride +
                        kColors * (first - region.left);
    if (!samples_.planar) {
      samples_.ToRgb(row, first - left, count, rgb);
      continue;
    }
    row += first - left;
    for (std::uint32_t x = 0; x < count; ++x)
      rgb[kColors * x + channel] = row[x];
  }
  return absl::OkStatus();
}

absl::Status TiffDecoder::Codec::DecodeBands(const Region& region,
                                             RowSink& sink) {
  const std::size_t stride = kColors * region.width;
  block_.resize(samples_.RowBytes(blocks_.width) * blocks_.height);
  band_.resize(std::size_t{std::min(blocks_.height, region.height)} * stride +
               kStripPadding);
  const std::uint16_t channels = samples_.planar ? kColors : 1;
  std::uint32_t done = 0;
  while (done < region.height) {
    const std::uint32_t row = region.top + done;
    const std::uint32_t top = row / blocks_.height * blocks_.height;
    for (std::uint16_t channel = 0; channel < channels; ++channel) {
      std::uint64_t left = region.left / blocks_.width * blocks_.width;
      for (; left < region.left + region.width; left += blocks_.width) {
        FOREBAY_RETURN_IF_ERROR(DecodeBlock(
            region, static_cast<std::uint32_t>(left), top, channel));
      }
    }
    const std::uint32_t rows =
        std::min(region.height - done, blocks_.height - (row - top));
    for (std::uint32_t i = 0; i < rows; i += kStripRows) {
      sink.Rows(done + i, std::min(kStripRows, rows - i),
                band_.data() + i * stride, stride);
    }
    done += rows;
  }
  return absl::OkStatus();
}

absl::Status TiffDecoder::Codec::DecodeStored(const Region& region,
                                              RowSink& sink) {
  FOREBAY_RETURN_IF_ERROR(IsByRow() ? DecodeRows(region, sink)
                                    : DecodeBands(region, sink));
  if (!file_.lacks_pixels()) return absl::OkStatus();
  return absl::DataLossError(
      "is a corrupt TIFF image: a JPEG strip or tile has too few pixels");
}

absl::Status TiffDecoder::Codec::Decode(const Region& region, RowSink& sink) {
  if (file_.get() == nullptr) {
    return absl::FailedPreconditionError("no image is open");
  }
  const ImageInfo image = Turned();
  if (region.width == 0 || region.height == 0 || region.width > image.width ||
      region.height > image.height ||
      region.left > image.width - region.width ||
      region.top > image.height - region.height) {
    Close();
    return absl::InvalidArgumentError("the region leaves the image");
  }
  absl::Status status;
  if (turn_.any()) {
    const Region stored =
        StoredRegion(turn_, info_.width, info_.height, region);
    TurnedRows rows(turn_, stored, turned_);
    status = DecodeStored(stored, rows);
    if (status.ok()) rows.HandOn(sink);
  } else {
    status = DecodeStored(region, sink);
  }
  Close();
  return status;
}

TiffDecoder::TiffDecoder(const DecodeLimits& limits)
    : codec_(std::make_unique<Codec>(limits)) {}

TiffDecoder::~TiffDecoder() = default;

absl::StatusOr<ImageInfo> TiffDecoder::Open(
    absl::Span<const std::uint8_t> encoded) {
  return codec_->Open(encoded);
}

absl::Status TiffDecoder::Decode(const Region& region, RowSink& sink) {
  return codec_->Decode(region, sink);
}

}  // namespace forebay::pipeline::decode

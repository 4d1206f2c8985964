// Reads TIFF images as arrays, by libtiff. An image is stored as strips of rows
// or as tiles (TIFF 6.0, sections 3 and 15). Each strip or tile holds all
// channels or, if channels are stored as planes of their own, one channel.
// Strips are decoded straight into the array. A tile is first decoded into
// scratch memory, and its rows are copied from there. All sizes are checked
// against the file and the workspace's limits before memory is allocated.

#include "server/pipeline/tiff_array.h"

#include <tiffio.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/pipeline/decode/format.h"
#include "server/pipeline/decode/image_decoder.h"
#include "server/pipeline/decode/tiff_file.h"
#include "server/pipeline/workspace_parts.h"

namespace forebay::pipeline {
namespace {

using proto::DType;

// Bytes that libtiff and its codecs need for state and tables.
constexpr std::uint64_t kLibraryBytes = 512 << 10;
// The most bytes that any codec here makes of one byte of the file. A file with
// fewer bytes than this ratio demands is truncated.
constexpr std::uint64_t kMostDecompression = 4096;

// The SampleFormat (TIFF 6.0, section 19) and bits of a sample, and the type
// that it becomes.
struct SampleType {
  std::uint16_t format;
  std::uint16_t bits;
  DType dtype;
};
constexpr SampleType kSampleTypes[] = {
    {SAMPLEFORMAT_UINT, 8, DType::kUint8},
    {SAMPLEFORMAT_UINT, 16, DType::kUint16},
    {SAMPLEFORMAT_UINT, 32, DType::kUint32},
    {SAMPLEFORMAT_UINT, 64, DType::kUint64},
    {SAMPLEFORMAT_INT, 8, DType::kInt8},
    {SAMPLEFORMAT_INT, 16, DType::kInt16},
    {SAMPLEFORMAT_INT, 32, DType::kInt32},
    {SAMPLEFORMAT_INT, 64, DType::kInt64},
    {SAMPLEFORMAT_IEEEFP, 16, DType::kFloat16},
    {SAMPLEFORMAT_IEEEFP, 32, DType::kFloat32},
    {SAMPLEFORMAT_IEEEFP, 64, DType::kFloat64},
};

// Returns the error for images that are valid but not supported.
absl::Status NotRead(std::string_view what) {
  return absl::UnimplementedError(
      absl::StrCat("is a TIFF image with ", std::string(what),
                   ", which are not read as an array"));
}

absl::Status CheckCompression(TIFF* tiff) {
  std::uint16_t compression = COMPRESSION_NONE;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &compression);
  switch (compression) {
    case COMPRESSION_NONE:
    case COMPRESSION_LZW:
    case COMPRESSION_ADOBE_DEFLATE:
    case COMPRESSION_DEFLATE:
    case COMPRESSION_PACKBITS:
      return absl::OkStatus();
    default:
      return NotRead(
          absl::StrCat("samples compressed by method ", compression));
  }
}

absl::StatusOr<DType> DTypeOf(TIFF* tiff) {
  std::uint16_t format = SAMPLEFORMAT_UINT;
  std::uint16_t bits = 1;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &format);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &bits);
  const auto* const found =
      std::find_if(std::begin(kSampleTypes), std::end(kSampleTypes),
                   [&](const SampleType& type) {
                     return type.format == format && type.bits == bits;
                   });
  if (found == std::end(kSampleTypes)) {
    return NotRead(
        absl::StrCat("samples of ", bits, " bits and format ", format));
  }
  return found->dtype;
}

// The first image of an open file, and the strips or tiles ("pieces") that hold
// it. Not thread-safe. Borrows the file's bytes.
class TiffImage {
 public:
  // Opens the file, and checks the image's type and sizes.
  absl::Status Open(absl::Span<const std::uint8_t> bytes,
                    const WorkspaceLimits& limits);
  const TensorType& type() const { return type_; }
  // Returns the number of bytes that Read needs outside of `scratch`.
  std::uint64_t library_bytes() const { return kLibraryBytes + 2 * longest_; }
  // Fills `out`, which has the type's bytes.
  absl::Status Read(transform::Scratch& scratch, std::uint8_t* out);

 private:
  // Reads the directory's tags into the type and the layout.
  absl::Status ReadShape(const WorkspaceLimits& limits);
  // Reads the pieces' sizes, and checks that they lie within the file.
  absl::Status ReadPieces(std::uint64_t file_bytes);
  // Decodes plane number `number` into `plane`.
  absl::Status ReadStrips(std::uint16_t number, std::uint8_t* plane);
  absl::Status ReadTiles(std::uint16_t number, std::uint8_t* tile,
                         std::uint8_t* plane);
  std::uint64_t row_bytes() const { return each_ * info_.width; }
  std::uint64_t tile_bytes() const {
    return each_ * piece_width_ * piece_rows_;
  }

  decode::TiffFile file_;
  decode::ImageInfo info_;
  TensorType type_;
  // Bytes of one pixel in a piece: one sample, or the samples of all channels.
  std::uint64_t each_ = 0;
  // Number of planes; 1 if pieces hold all channels.
  std::uint16_t planes_ = 1;
  bool tiled_ = false;
  // Width of a piece in pixels.
  std::uint32_t piece_width_ = 0;
  // Rows of a piece; the image's last strip may have fewer.
  std::uint32_t piece_rows_ = 0;
  // Compressed bytes of the longest piece.
  std::uint64_t longest_ = 0;
};

absl::Status TiffImage::ReadShape(const WorkspaceLimits& limits) {
  TIFF* const tiff = file_.get();
  if (TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &info_.width) != 1 ||
      TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &info_.height) != 1 ||
      info_.width == 0 || info_.height == 0)
    return file_.FailureStatus();
  const decode::DecodeLimits decode_limits = {
      limits.max_pixels,
      std::max(limits.scratch_bytes, limits.larger_scratch_bytes)};
  FOREBAY_RETURN_IF_ERROR(CheckLimits("TIFF", info_, decode_limits));
  FOREBAY_RETURN_IF_ERROR(CheckCompression(tiff));
  FOREBAY_ASSIGN_OR_RETURN(type_.dtype, DTypeOf(tiff));
  std::uint16_t photometric = PHOTOMETRIC_MINISBLACK;
  std::uint32_t depth = 1;
  std::uint16_t channels = 1;
  std::uint16_t planar = PLANARCONFIG_CONTIG;
  TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &photometric);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_IMAGEDEPTH, &depth);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &channels);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &planar);
  // YCbCr images may be subsampled. Not every pixel then has samples of its
  // own.
  if (photometric == PHOTOMETRIC_YCBCR) return NotRead("YCbCr colors");
  if (depth != 1) return NotRead("samples in three dimensions");
  if (channels == 0) return file_.FailureStatus();
  const bool is_planar = planar == PLANARCONFIG_SEPARATE && channels > 1;
  type_.shape = {info_.height, info_.width};
  if (channels > 1)
    type_.shape.insert(is_planar ? type_.shape.begin() : type_.shape.end(),
                       channels);
  planes_ = is_planar ? channels : 1;
  each_ = proto::SizeOf(type_.dtype) * (is_planar ? 1 : channels);
  // row_bytes() * planes_ does not overflow. The number of pixels is limited,
  // and a pixel has at most 65,535 samples of 8 bytes, less than 2^19 bytes.
  if (__builtin_mul_overflow(row_bytes() * planes_, std::uint64_t{info_.height},
                             &type_.bytes))
    return file_.FailureStatus();
  return absl::OkStatus();
}

absl::Status TiffImage::ReadPieces(std::uint64_t file_bytes) {
  TIFF* const tiff = file_.get();
  if (type_.bytes / kMostDecompression > file_bytes)
    return absl::DataLossError("is a truncated TIFF image");
  tiled_ = TIFFIsTiled(tiff) != 0;
  piece_width_ = info_.width;
  if (tiled_) {
    if (TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &piece_width_) != 1 ||
        TIFFGetField(tiff, TIFFTAG_TILELENGTH, &piece_rows_) != 1)
      return file_.FailureStatus();
  } else {
    TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &piece_rows_);
    piece_rows_ = std::min(piece_rows_, info_.height);
  }
  std::uint64_t pixels = 0;
  std::uint64_t bytes = 0;
  if (piece_width_ == 0 || piece_rows_ == 0 ||
      __builtin_mul_overflow(std::uint64_t{piece_width_},
                             std::uint64_t{piece_rows_}, &pixels) ||
      __builtin_mul_overflow(pixels, each_, &bytes) ||
      (tiled_ ? TIFFTileRowSize64(tiff) : TIFFScanlineSize64(tiff)) !=
          each_ * piece_width_)
    return file_.FailureStatus();
  const std::uint32_t count =
      tiled_ ? TIFFNumberOfTiles(tiff) : TIFFNumberOfStrips(tiff);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t begin = TIFFGetStrileOffset(tiff, i);
    const std::uint64_t length = TIFFGetStrileByteCount(tiff, i);
    if (begin > file_bytes || length > file_bytes - begin)
      return absl::DataLossError("is a truncated TIFF image");
    longest_ = std::max(longest_, length);
  }
  return absl::OkStatus();
}

absl::Status TiffImage::Open(absl::Span<const std::uint8_t> bytes,
                             const WorkspaceLimits& limits) {
  FOREBAY_RETURN_IF_ERROR(file_.Open(
      bytes, std::max(limits.scratch_bytes, limits.larger_scratch_bytes)));
  FOREBAY_RETURN_IF_ERROR(ReadShape(limits));
  return ReadPieces(bytes.size());
}

absl::Status TiffImage::ReadStrips(std::uint16_t number, std::uint8_t* plane) {
  TIFF* const tiff = file_.get();
  for (std::uint32_t top = 0; top < info_.height;) {
    const std::uint32_t rows = std::min(piece_rows_, info_.height - top);
    const auto bytes = static_cast<tmsize_t>(rows * row_bytes());
    if (TIFFReadEncodedStrip(tiff, TIFFComputeStrip(tiff, top, number),
                             plane + top * row_bytes(), bytes) != bytes)
      return file_.FailureStatus();
    top += rows;
  }
  return absl::OkStatus();
}

absl::Status TiffImage::ReadTiles(std::uint16_t number, std::uint8_t* tile,
                                  std::uint8_t* plane) {
  TIFF* const tiff = file_.get();
  const auto bytes = static_cast<tmsize_t>(tile_bytes());
  // Tiles at the right and lower edge may reach beyond the image (TIFF 6.0,
  // section 15). The part beyond the image is not copied.
  for (std::uint64_t top = 0; top < info_.height; top += piece_rows_) {
    for (std::uint64_t left = 0; left < info_.width; left += piece_width_) {
      const std::uint32_t index =
          TIFFComputeTile(tiff, static_cast<std::uint32_t>(left),
                          static_cast<std::uint32_t>(top), 0, number);
      if (TIFFReadEncodedTile(tiff, index, tile, bytes) != bytes)
        return file_.FailureStatus();
      const std::uint64_t rows =
          std::min<std::uint64_t>(piece_rows_, info_.height - top);
      const std::uint64_t row =
          each_ * std::min<std::uint64_t>(piece_width_, info_.width - left);
      for (std::uint64_t y = 0; y < rows; ++y) {
        std::memcpy(plane + (top + y) * row_bytes() + left * each_,
                    tile + y * piece_width_ * each_, row);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status TiffImage::Read(transform::Scratch& scratch, std::uint8_t* out) {
  std::uint8_t* tile = nullptr;
  if (tiled_) {
    FOREBAY_ASSIGN_OR_RETURN(
        tile, scratch.Allocate<std::uint8_t>(tile_bytes(), "a tile"));
  }
  for (std::uint16_t i = 0; i < planes_; ++i) {
    std::uint8_t* const plane = out + i * (type_.bytes / planes_);
    FOREBAY_RETURN_IF_ERROR(tiled_ ? ReadTiles(i, tile, plane)
                                   : ReadStrips(i, plane));
  }
  return absl::OkStatus();
}

}  // namespace

bool IsTiff(absl::Span<const std::uint8_t> file) {
  return decode::GuessFormat(file).format == decode::Format::kTiff;
}

absl::StatusOr<TensorType> TypeOfTiff(absl::Span<const std::uint8_t> file,
                                      const WorkspaceLimits& limits) {
  TiffImage image;
  FOREBAY_RETURN_IF_ERROR(image.Open(file, limits));
  return image.type();
}

absl::StatusOr<Array> ReadTiff(absl::Span<const std::uint8_t> file,
                               Workspace& workspace) {
  TiffImage image;
  FOREBAY_RETURN_IF_ERROR(image.Open(file, workspace.limits()));
  transform::Scratch& scratch = workspace.parts().scratch;
  scratch.Reset();
  FOREBAY_RETURN_IF_ERROR(scratch.Count(image.library_bytes(), "decoding"));
  FOREBAY_ASSIGN_OR_RETURN(
      std::uint8_t* const room,
      scratch.Allocate<std::uint8_t>(image.type().bytes, "an array"));
  FOREBAY_RETURN_IF_ERROR(image.Read(scratch, room));
  Array array;
  array.type = image.type();
  array.items = {room, image.type().bytes};
  return array;
}

absl::Status ReadTiff(absl::Span<const std::uint8_t> file, Workspace& workspace,
                      absl::Span<std::uint8_t> out) {
  TiffImage image;
  FOREBAY_RETURN_IF_ERROR(image.Open(file, workspace.limits()));
  if (image.type().bytes != out.size())
    return absl::DataLossError("is not as long as it was measured");
  transform::Scratch& scratch = workspace.parts().scratch;
  scratch.ResetBehind(file);
  FOREBAY_RETURN_IF_ERROR(scratch.Count(image.library_bytes(), "decoding"));
  return image.Read(scratch, out.data());
}

}  // namespace forebay::pipeline

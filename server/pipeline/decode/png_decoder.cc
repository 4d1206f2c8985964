// Decodes PNG images by libpng, row by row.
//
// libpng only decompresses and unfilters rows. Rows are converted to RGB here,
// since Pillow's conversion differs from libpng's. A row has one of five
// layouts. Gray values and palette indices go through a table of 256 colors.
// Rows above the region are decoded and dropped, since each row depends on the
// row before. An interlaced image comes in seven passes, so it is held in
// memory as a whole.
//
// libpng reports errors by longjmp. Open and Decode call setjmp. The functions
// that longjmp may leave hold no object with a destructor.

#include "server/pipeline/decode/png_decoder.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"

namespace forebay::pipeline::decode {
namespace {

constexpr std::size_t kSignatureBytes = 8;
constexpr std::uint32_t kStripRows = 8;
// Bytes that libpng and zlib need besides rows, for their state and zlib's
// window.
constexpr std::uint64_t kLibraryBytes = 256 << 10;
// Largest buffer, in bytes, that is kept between images. Larger ones are freed.
constexpr std::size_t kKeptBytes = 1 << 20;

// The layout of a row as libpng gives it.
enum class Layout {
  // A byte for each pixel: gray or palette index, which a table turns into RGB.
  kTable,
  // A byte of gray, which the table turns into RGB, and a byte of alpha.
  kTableAlpha,
  // A big-endian number of 16 bits.
  kGray16,
  kRgb,
  kRgba,
};

std::size_t PixelBytes(Layout layout) {
  switch (layout) {
    case Layout::kTable:
      return 1;
    case Layout::kTableAlpha:
    case Layout::kGray16:
      return 2;
    case Layout::kRgb:
      return 3;
    case Layout::kRgba:
      return 4;
  }
  return 0;
}

using Table = std::array<std::array<std::uint8_t, 3>, 256>;

// Converts `width` pixels to RGB.
void ToRgb(Layout layout, const Table& table, const std::uint8_t* in,
           std::uint32_t width, std::uint8_t* rgb) {
  const std::size_t step = PixelBytes(layout);
  for (std::uint32_t x = 0; x < width; ++x, in += step, rgb += 3) {
    switch (layout) {
      case Layout::kTable:
      case Layout::kTableAlpha:
        std::memcpy(rgb, table[in[0]].data(), 3);
        break;
      case Layout::kGray16:
        // Pillow converts 16-bit gray to a 32-bit integer, and clips it at 255.
        std::memset(rgb, in[0] != 0 ? 255 : in[1], 3);
        break;
      case Layout::kRgb:
      case Layout::kRgba:
        std::memcpy(rgb, in, 3);
        break;
    }
  }
}

// Whether the file has all chunks up to its IEND chunk.
bool IsWhole(absl::Span<const std::uint8_t> file) {
  // Bytes of a chunk's length, type and CRC (PNG specification, 5.3).
  constexpr std::size_t kChunkBytes = 12;
  std::size_t at = kSignatureBytes;
  while (file.size() - at >= kChunkBytes) {
    const std::uint32_t length = png_get_uint_32(file.data() + at);
    if (length > file.size() - at - kChunkBytes) return false;
    if (std::memcmp(file.data() + at + 4, "IEND", 4) == 0) return true;
    at += kChunkBytes + length;
  }
  return false;
}

}  // namespace

// Decodes one image after another. Not thread-safe.
class PngDecoder::Codec {
 public:
  explicit Codec(const DecodeLimits& limits) : limits_(limits) {}
  ~Codec() { Close(); }

  absl::StatusOr<ImageInfo> Open(absl::Span<const std::uint8_t> encoded);
  absl::Status Decode(const Region& region, RowSink& sink);

 private:
  static void OnError(png_structp png, png_const_charp message);
  static void OnWarning(png_structp, png_const_charp) {}
  static void OnRead(png_structp png, png_bytep out, std::size_t size);

  // longjmp may leave these functions. Neither they nor the functions that they
  // call while libpng runs may therefore hold an object with a destructor.
  void ReadHeader();
  void ReadPalette();
  void StartRows();
  void DecodeRows(const Region& region, RowSink& sink);
  // Returns the image's next row, which is valid until the next call.
  const std::uint8_t* NextRow(std::uint8_t* buffer);

  std::uint64_t ScratchBytes() const;
  absl::Status FailureStatus() const;
  Layout RowLayout() const;
  std::uint64_t RowBytes() const {
    return std::uint64_t{info_.width} * PixelBytes(layout_);
  }
  std::uint64_t StripStride() const {
    return std::uint64_t{info_.width} * 3 + kStripPadding;
  }
  void Close();

  const DecodeLimits limits_;
  std::jmp_buf jump_{};
  bool truncated_ = false;
  char message_[128] = {};

  absl::Span<const std::uint8_t> encoded_;
  std::size_t position_ = 0;
  png_structp png_ = nullptr;
  png_infop png_info_ = nullptr;
  ImageInfo info_;
  int color_type_ = 0;
  int bit_depth_ = 0;
  bool interlaced_ = false;
  Layout layout_ = Layout::kRgb;
  Table table_{};
  std::uint32_t next_row_ = 0;
  std::vector<std::uint8_t> strip_;
  // A single row as libpng gives it, or all rows if the image is interlaced.
  std::vector<std::uint8_t> pixels_;
  std::vector<png_bytep> rows_;
};

void PngDecoder::Codec::OnError(png_structp png, png_const_charp message) {
  auto* codec = static_cast<Codec*>(png_get_error_ptr(png));
  std::snprintf(codec->message_, sizeof(codec->message_), "%s", message);
  std::longjmp(codec->jump_, 1);
}

void PngDecoder::Codec::OnRead(png_structp png, png_bytep out,
                               std::size_t size) {
  auto* codec = static_cast<Codec*>(png_get_io_ptr(png));
  if (size > codec->encoded_.size() - codec->position_) {
    codec->truncated_ = true;
    std::longjmp(codec->jump_, 1);
  }
  std::memcpy(out, codec->encoded_.data() + codec->position_, size);
  codec->position_ += size;
}

void PngDecoder::Codec::Close() {
  png_destroy_read_struct(&png_, &png_info_, nullptr);
  if (pixels_.capacity() > kKeptBytes)
    std::vector<std::uint8_t>().swap(pixels_);
}

absl::Status PngDecoder::Codec::FailureStatus() const {
  if (truncated_) return absl::DataLossError("is a truncated PNG image");
  return absl::DataLossError(
      absl::StrCat("is a corrupt PNG image: ", message_));
}

void PngDecoder::Codec::ReadHeader() {
  png_set_read_fn(png_, this, OnRead);
  // libpng's limits are lifted, since CheckLimits checks sizes. Chunks that do
  // not affect RGB pixels are not decompressed.
  png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  // A wrong CRC in a chunk before the pixels is an error, as in Pillow.
  png_set_crc_action(png_, PNG_CRC_DEFAULT, PNG_CRC_ERROR_QUIT);
  png_read_info(png_, png_info_);
  info_.width = png_get_image_width(png_, png_info_);
  info_.height = png_get_image_height(png_, png_info_);
  color_type_ = png_get_color_type(png_, png_info_);
  bit_depth_ = png_get_bit_depth(png_, png_info_);
  interlaced_ = png_get_interlace_type(png_, png_info_) != PNG_INTERLACE_NONE;
  layout_ = RowLayout();
  ReadPalette();
}

Layout PngDecoder::Codec::RowLayout() const {
  switch (color_type_) {
    case PNG_COLOR_TYPE_GRAY:
      return bit_depth_ == 16 ? Layout::kGray16 : Layout::kTable;
    case PNG_COLOR_TYPE_GRAY_ALPHA:
      return Layout::kTableAlpha;
    case PNG_COLOR_TYPE_RGB:
      return Layout::kRgb;
    case PNG_COLOR_TYPE_RGB_ALPHA:
      return Layout::kRgba;
    default:
      return Layout::kTable;
  }
}

// Fills the table with the palette, or with grays scaled to 8 bits. An index
// beyond the palette means the gray of the same value, as in Pillow.
void PngDecoder::Codec::ReadPalette() {
  const bool scaled = color_type_ == PNG_COLOR_TYPE_GRAY && bit_depth_ < 8;
  const unsigned scale = scaled ? 255U / ((1U << bit_depth_) - 1) : 1;
  for (unsigned i = 0; i < 256; ++i) {
    table_[i].fill(static_cast<std::uint8_t>(i * scale));
  }
  if (color_type_ != PNG_COLOR_TYPE_PALETTE) return;
  png_colorp palette = nullptr;
  int size = 0;
  png_get_PLTE(png_, png_info_, &palette, &size);
  for (int i = 0; i < std::min(size, 256); ++i) {
    table_[static_cast<std::size_t>(i)] = {palette[i].red, palette[i].green,
                                           palette[i].blue};
  }
}

absl::StatusOr<ImageInfo> PngDecoder::Codec::Open(
    absl::Span<const std::uint8_t> encoded) {
  Close();
  if (encoded.size() < kSignatureBytes ||
      png_sig_cmp(encoded.data(), 0, kSignatureBytes) != 0) {
    return absl::DataLossError("is not a PNG image");
  }
  encoded_ = encoded;
  position_ = 0;
  truncated_ = false;
  message_[0] = '\0';
  if (setjmp(jump_) != 0) {
    Close();
    return FailureStatus();
  }
  png_ =
      png_create_read_struct(PNG_LIBPNG_VER_STRING, this, OnError, OnWarning);
  if (png_ != nullptr) png_info_ = png_create_info_struct(png_);
  if (png_info_ == nullptr) {
    Close();
    return absl::ResourceExhaustedError(
        "needs more memory to decode than there is");
  }
  ReadHeader();
  info_.scratch_bytes = ScratchBytes();
  if (absl::Status status = CheckLimits("PNG", info_, limits_); !status.ok()) {
    Close();
    return status;
  }
  return info_;
}

std::uint64_t PngDecoder::Codec::ScratchBytes() const {
  // libpng keeps three rows in the form that they have in the file, with at
  // most 8 bytes for each pixel.
  const std::uint64_t bytes = kLibraryBytes + std::uint64_t{info_.width} * 24 +
                              StripStride() * kStripRows + RowBytes();
  if (!interlaced_) return bytes;
  return bytes + (RowBytes() + sizeof(png_bytep)) * info_.height;
}

absl::Status PngDecoder::Codec::Decode(const Region& region, RowSink& sink) {
  if (png_ == nullptr) {
    return absl::FailedPreconditionError("no image is open");
  }
  if (region.width == 0 || region.height == 0 || region.width > info_.width ||
      region.height > info_.height ||
      region.left > info_.width - region.width ||
      region.top > info_.height - region.height) {
    Close();
    return absl::InvalidArgumentError("the region leaves the image");
  }
  strip_.resize(StripStride() * kStripRows);
  pixels_.resize(RowBytes() * (interlaced_ ? info_.height : 1));
  rows_.resize(interlaced_ ? info_.height : 0);
  if (setjmp(jump_) != 0) {
    Close();
    return FailureStatus();
  }
  StartRows();
  DecodeRows(region, sink);
  Close();
  return absl::OkStatus();
}

void PngDecoder::Codec::StartRows() {
  // Samples of less than a byte are widened to a byte each. 16-bit colors are
  // cut to their high bytes. All layouts then have whole bytes.
  png_set_packing(png_);
  if (layout_ != Layout::kGray16) png_set_strip_16(png_);
  if (interlaced_) png_set_interlace_handling(png_);
  png_read_update_info(png_, png_info_);
  // Buffers for rows have RowBytes() bytes, so rows of another size could
  // overrun them.
  if (png_get_rowbytes(png_, png_info_) != RowBytes()) {
    png_error(png_, "unexpected row size");
  }
  next_row_ = 0;
  if (!interlaced_) return;
  for (std::uint32_t y = 0; y < info_.height; ++y) {
    rows_[y] = pixels_.data() + y * RowBytes();
  }
  png_read_image(png_, rows_.data());
}

const std::uint8_t* PngDecoder::Codec::NextRow(std::uint8_t* buffer) {
  if (interlaced_) return rows_[next_row_++];
  png_read_row(png_, buffer, nullptr);
  ++next_row_;
  return buffer;
}

void PngDecoder::Codec::DecodeRows(const Region& region, RowSink& sink) {
  while (next_row_ < region.top) NextRow(pixels_.data());
  const std::size_t stride = StripStride();
  const std::size_t first_byte = region.left * PixelBytes(layout_);
  for (std::uint32_t done = 0; done < region.height;) {
    const std::uint32_t count = std::min(kStripRows, region.height - done);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint8_t* row = NextRow(pixels_.data());
      ToRgb(layout_, table_, row + first_byte, region.width,
            strip_.data() + i * stride);
    }
    sink.Rows(done, count, strip_.data(), stride);
    done += count;
  }
  // A truncated file may still have all rows, and Pillow then reads the file.
  // To find out, the rows below the region are decoded.
  if (!IsWhole(encoded_)) {
    while (next_row_ < info_.height) NextRow(pixels_.data());
  }
}

PngDecoder::PngDecoder(const DecodeLimits& limits)
    : codec_(std::make_unique<Codec>(limits)) {}

PngDecoder::~PngDecoder() = default;

absl::StatusOr<ImageInfo> PngDecoder::Open(
    absl::Span<const std::uint8_t> encoded) {
  return codec_->Open(encoded);
}

absl::Status PngDecoder::Decode(const Region& region, RowSink& sink) {
  return codec_->Decode(region, sink);
}

}  // namespace forebay::pipeline::decode

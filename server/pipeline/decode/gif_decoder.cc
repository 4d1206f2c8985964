// Decodes the first frame of GIF images by giflib, with the pixels of Pillow.
//
// giflib decompresses color indices. The palette and the frame's place in the
// image are applied here. Before that, all LZW codes of the frame are checked
// (gif_codes.h), because giflib does not notice some damage for which Pillow
// refuses an image. The rows of an interlaced frame come in four passes, so the
// whole frame is held in memory.

#include "server/pipeline/decode/gif_decoder.h"

#include <gif_lib.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "server/base/status.h"
#include "server/pipeline/decode/gif_codes.h"

namespace forebay::pipeline::decode {
namespace {

// Number of rows that the sink is given at a time.
constexpr std::uint32_t kStripRows = 8;
constexpr std::size_t kColors = 3;
// Bytes that giflib needs for its tables and palettes.
constexpr std::uint64_t kLibraryBytes = 64 << 10;
// Largest buffer, in bytes, that is kept between images. Larger ones are freed.
constexpr std::size_t kKeptBytes = 1 << 20;

// A pass over the rows of an interlaced frame (GIF89a, Appendix E).
struct Pass {
  std::uint32_t first_row;
  std::uint32_t step;
};
constexpr Pass kPasses[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};

bool HasSignature(absl::Span<const std::uint8_t> file) {
  constexpr std::string_view kSignatures[] = {"GIF87a", "GIF89a"};
  return std::any_of(std::begin(kSignatures), std::end(kSignatures),
                     [&](std::string_view one) {
                       return file.size() >= one.size() &&
                              std::memcmp(file.data(), one.data(),
                                          one.size()) == 0;
                     });
}

std::size_t CountColors(const ColorMapObject& colors) {
  return static_cast<std::size_t>(std::max(colors.ColorCount, 0));
}

// Whether each color of a palette is the gray whose value is the color's index.
// Pillow ignores a frame's palette if it is such a ramp.
bool IsGrayRamp(const ColorMapObject& colors) {
  for (std::size_t i = 0; i < CountColors(colors); ++i) {
    const GifColorType& color = colors.Colors[i];
    if (color.Red != i || color.Green != i || color.Blue != i) return false;
  }
  return true;
}

}  // namespace

void GifDecoder::Closer::operator()(GifFileType* gif) const {
  int error = 0;
  DGifCloseFile(gif, &error);
}

// Pillow stops at the last pixel's code, so a file may lack the bytes behind
// that code, such as the block terminator. In place of missing bytes, giflib is
// given zeros.
int GifDecoder::OnRead(GifFileType* gif, std::uint8_t* out, int size) {
  auto* decoder = static_cast<GifDecoder*>(gif->UserData);
  const std::size_t left = decoder->encoded_.size() - decoder->position_;
  if (static_cast<std::size_t>(size) > left) {
    decoder->truncated_ = true;
    decoder->position_ = decoder->encoded_.size();
    if (!decoder->has_all_codes_) return 0;
    std::fill_n(out, size, std::uint8_t{0});
    return size;
  }
  std::memcpy(out, decoder->encoded_.data() + decoder->position_,
              static_cast<std::size_t>(size));
  decoder->position_ += static_cast<std::size_t>(size);
  return size;
}

void GifDecoder::Close() {
  gif_ = nullptr;
  if (indices_.capacity() > kKeptBytes) {
    std::vector<std::uint8_t>().swap(indices_);
  }
}

absl::Status GifDecoder::FailureStatus() const {
  if (gif_ != nullptr && gif_->Error == D_GIF_ERR_NOT_ENOUGH_MEM) {
    return absl::ResourceExhaustedError(
        "needs more memory to decode than there is");
  }
  // D_GIF_ERR_EOF_TOO_SOON: giflib has read beyond the file's end.
  const bool ended = gif_ != nullptr && gif_->Error == D_GIF_ERR_EOF_TOO_SOON;
  return absl::DataLossError(truncated_ || ended ? "is a truncated GIF image"
                                                 : "is a corrupt GIF image");
}

// A graphic control extension (GIF89a, section 23) has a transparent color if
// the lowest bit of its first byte is set. A later extension without a
// transparent color does not undo this, as in Pillow.
absl::Status GifDecoder::ReadExtension() {
  int code = 0;
  GifByteType* block = nullptr;
  if (DGifGetExtension(gif_.get(), &code, &block) == GIF_ERROR) {
    return FailureStatus();
  }
  if (code == GRAPHICS_EXT_FUNC_CODE) {
    constexpr int kBlockBytes = 4;
    if (block == nullptr || block[0] < kBlockBytes) return FailureStatus();
    if ((block[1] & 1) != 0) background_ = block[4];
  }
  while (block != nullptr) {
    if (DGifGetExtensionNext(gif_.get(), &block) == GIF_ERROR) {
      return FailureStatus();
    }
  }
  return absl::OkStatus();
}

absl::Status GifDecoder::ReadHeaders() {
  background_ = 0;
  while (true) {
    GifRecordType type = UNDEFINED_RECORD_TYPE;
    if (DGifGetRecordType(gif_.get(), &type) == GIF_ERROR) {
      return FailureStatus();
    }
    if (type == IMAGE_DESC_RECORD_TYPE) break;
    if (type != EXTENSION_RECORD_TYPE) {
      return absl::DataLossError("is a GIF image without a frame");
    }
    FOREBAY_RETURN_IF_ERROR(ReadExtension());
  }
  if (DGifGetImageDesc(gif_.get()) == GIF_ERROR) return FailureStatus();
  const GifImageDesc& frame = gif_->Image;
  if (frame.Left < 0 || frame.Top < 0 || frame.Width <= 0 ||
      frame.Height <= 0) {
    return FailureStatus();
  }
  frame_ = {static_cast<std::uint32_t>(frame.Left),
            static_cast<std::uint32_t>(frame.Top),
            static_cast<std::uint32_t>(frame.Width),
            static_cast<std::uint32_t>(frame.Height)};
  interlaced_ = frame.Interlace;
  // If the frame reaches beyond the logical screen, Pillow makes the image
  // larger.
  info_.width = std::max(static_cast<std::uint32_t>(gif_->SWidth),
                         frame_.left + frame_.width);
  info_.height = std::max(static_cast<std::uint32_t>(gif_->SHeight),
                          frame_.top + frame_.height);
  info_.scratch_bytes =
      kLibraryBytes + kStripRows * (kColors * std::uint64_t{info_.width}) +
      kStripPadding +
      std::uint64_t{frame_.width} * (interlaced_ ? frame_.height : 1);
  return absl::OkStatus();
}

// An index beyond the palette means the gray of the same value, as in Pillow.
void GifDecoder::ReadPalette() {
  for (std::size_t i = 0; i < table_.size(); ++i) {
    table_[i].fill(static_cast<std::uint8_t>(i));
  }
  const ColorMapObject* colors = gif_->Image.ColorMap;
  if (colors == nullptr || IsGrayRamp(*colors)) colors = gif_->SColorMap;
  if (colors == nullptr) return;
  const std::size_t count = std::min(CountColors(*colors), table_.size());
  for (std::size_t i = 0; i < count; ++i) {
    const GifColorType& color = colors->Colors[i];
    table_[i] = {color.Red, color.Green, color.Blue};
  }
}

absl::StatusOr<ImageInfo> GifDecoder::Open(
    absl::Span<const std::uint8_t> encoded) {
  Close();
  if (!HasSignature(encoded)) return absl::DataLossError("is not a GIF image");
  encoded_ = encoded;
  position_ = 0;
  truncated_ = false;
  has_all_codes_ = false;
  int error = 0;
  gif_.reset(DGifOpen(this, OnRead, &error));
  if (gif_ == nullptr) return FailureStatus();
  absl::Status status = ReadHeaders();
  if (status.ok()) status = CheckLimits("GIF", info_, limits_);
  if (!status.ok()) {
    Close();
    return status;
  }
  ReadPalette();
  return info_;
}

absl::Status GifDecoder::CheckCodes() {
  // The byte before position_ is the LZW minimum code size, which giflib has
  // read already.
  switch (CheckGifCodes(encoded_.subspan(position_), encoded_[position_ - 1],
                        std::uint64_t{frame_.width} * frame_.height)) {
    case GifCodes::kWhole:
      has_all_codes_ = true;
      return absl::OkStatus();
    case GifCodes::kTruncated:
      truncated_ = true;
      break;
    case GifCodes::kCorrupt:
      break;
  }
  return FailureStatus();
}

absl::Status GifDecoder::ReadRow(std::uint8_t* indices) {
  if (DGifGetLine(gif_.get(), indices, static_cast<int>(frame_.width)) ==
      GIF_ERROR) {
    return FailureStatus();
  }
  ++next_row_;
  return absl::OkStatus();
}

absl::Status GifDecoder::ReadInterlaced() {
  for (const Pass& pass : kPasses) {
    for (std::uint32_t y = pass.first_row; y < frame_.height; y += pass.step) {
      FOREBAY_RETURN_IF_ERROR(
          ReadRow(indices_.data() + std::size_t{y} * frame_.width));
    }
  }
  return absl::OkStatus();
}

bool GifDecoder::HasRow(std::uint32_t row) const {
  return row >= frame_.top && row - frame_.top < frame_.height;
}

void GifDecoder::ToRgb(const Region& region, std::uint32_t row,
                       const std::uint8_t* indices, std::uint8_t* rgb) const {
  const bool has_row = HasRow(row);
  for (std::uint32_t i = 0; i < region.width; ++i, rgb += kColors) {
    // For pixels left of the frame, x wraps around, and is larger than the
    // frame's width.
    const std::uint32_t x = region.left + i - frame_.left;
    const std::uint8_t index =
        has_row && x < frame_.width ? indices[x] : background_;
    std::memcpy(rgb, table_[index].data(), kColors);
  }
}

absl::Status GifDecoder::DecodeRows(const Region& region, RowSink& sink) {
  const std::size_t stride = kColors * region.width;
  strip_.resize(kStripRows * stride + kStripPadding);
  for (std::uint32_t done = 0; done < region.height;) {
    const std::uint32_t count = std::min(kStripRows, region.height - done);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t row = region.top + done + i;
      const std::uint8_t* indices = indices_.data();
      if (interlaced_ && HasRow(row)) {
        indices += std::size_t{row - frame_.top} * frame_.width;
      }
      // Rows above the region are decompressed and dropped.
      while (!interlaced_ && HasRow(row) && next_row_ <= row - frame_.top) {
        FOREBAY_RETURN_IF_ERROR(ReadRow(indices_.data()));
      }
      ToRgb(region, row, indices, strip_.data() + i * stride);
    }
    sink.Rows(done, count, strip_.data(), stride);
    done += count;
  }
  return absl::OkStatus();
}

absl::Status GifDecoder::Decode(const Region& region, RowSink& sink) {
  if (gif_ == nullptr) {
    return absl::FailedPreconditionError("no image is open");
  }
  if (region.width == 0 || region.height == 0 || region.width > info_.width ||
      region.height > info_.height ||
      region.left > info_.width - region.width ||
      region.top > info_.height - region.height) {
    Close();
    return absl::InvalidArgumentError("the region leaves the image");
  }
  next_row_ = 0;
  indices_.resize(std::size_t{frame_.width} *
                  (interlaced_ ? frame_.height : 1));
  absl::Status status = CheckCodes();
  if (status.ok() && interlaced_) status = ReadInterlaced();
  if (status.ok()) status = DecodeRows(region, sink);
  Close();
  return status;
}

}  // namespace forebay::pipeline::decode

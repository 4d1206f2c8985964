// Decodes BMP images by stb_image, which decodes only whole images. stb_image
// accepts images that Pillow refuses, and reads some formats differently. The
// headers are therefore read here first. Images that Pillow refuses, or reads
// differently from stb_image, are refused. All other images have the same
// pixels in both libraries.

#include "server/pipeline/decode/bmp_decoder.h"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/base/status.h"

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_BMP
#define STBI_NO_STDIO
#define STBI_ASSERT(condition) static_cast<void>(0)
#include <stb/stb_image.h>

namespace forebay::pipeline::decode {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

// Number of rows that the sink is given at a time.
constexpr std::uint32_t kStripRows = 8;
constexpr std::size_t kColors = 3;
constexpr std::size_t kFileHeaderBytes = 14;
// Bytes of BITMAPINFOHEADER, the usual kind of header.
constexpr std::size_t kInfoHeaderBytes = 40;
// Bytes of the shortest kind of header that includes four color masks.
constexpr std::size_t kMaskedHeaderBytes = 56;
// Bytes that stb_image needs besides the pixels.
constexpr std::uint64_t kLibraryBytes = 4 << 10;
// The most colors that a header may state (biClrUsed), as in Pillow.
constexpr std::uint32_t kMostColors = 65536;

// Returns the little-endian number of `bytes` bytes at an offset of the file.
std::uint32_t NumberAt(Bytes file, std::size_t offset, std::size_t bytes) {
  std::uint32_t number = 0;
  for (std::size_t i = bytes; i-- > 0;) number = number << 8 | file[offset + i];
  return number;
}

// Returns the error for images that are valid but not supported.
absl::Status NotRead(absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("is a BMP image ", what, ", which is not read"));
}

absl::Status Corrupt() { return absl::DataLossError("is a corrupt BMP image"); }

absl::Status Truncated() {
  return absl::DataLossError("is a truncated BMP image");
}

// A combination of color masks that Pillow reads, for images with `bits` bits
// in each pixel.
struct Masks {
  std::uint32_t bits;
  std::uint32_t red;
  std::uint32_t green;
  std::uint32_t blue;
  std::uint32_t alpha;
};
constexpr Masks kMasks[] = {
    {24, 0xff0000, 0xff00, 0xff, 0},
    {32, 0xff0000, 0xff00, 0xff, 0},
    {32, 0xff0000, 0xff00, 0xff, 0xff000000},
    {32, 0xff, 0xff00, 0xff0000, 0xff000000},
    {32, 0xff000000, 0xff0000, 0xff00, 0},
    {32, 0xff000000, 0xff0000, 0xff00, 0xff},
};

// Whether Pillow reads pixels with the masks that the file has.
bool AreMasksKnown(Bytes file, std::uint32_t bits, std::uint32_t header_bytes) {
  constexpr std::size_t kMasksOffset = kFileHeaderBytes + kInfoHeaderBytes;
  constexpr std::size_t kMasksBytes = 16;
  if (file.size() < kMasksOffset + kMasksBytes) return false;
  const auto mask = [&](std::size_t i) {
    return NumberAt(file, kMasksOffset + 4 * i, 4);
  };
  const bool has_alpha = bits == 32 && header_bytes >= kMaskedHeaderBytes;
  return std::any_of(std::begin(kMasks), std::end(kMasks),
                     [&](const Masks& masks) {
                       return masks.bits == bits && masks.red == mask(0) &&
                              masks.green == mask(1) && masks.blue == mask(2) &&
                              masks.alpha == (has_alpha ? mask(3) : 0);
                     });
}

struct Freer {
  void operator()(stbi_uc* pixels) const { stbi_image_free(pixels); }
};

}  // namespace

std::uint64_t BmpDecoder::RowBytes() const {
  return (std::uint64_t{info_.width} * header_.bits + 31) / 32 * 4;
}

absl::Status BmpDecoder::ReadHeader(Bytes encoded) {
  // Offsets in the file: bfOffBits 10, biSize 14, biWidth 18, biHeight 22,
  // biBitCount 28, biCompression 30, biClrUsed 46.
  const std::uint32_t header_bytes = NumberAt(encoded, 14, 4);
  if (header_bytes < kInfoHeaderBytes) return NotRead("with OS/2's header");
  const auto width = static_cast<std::int32_t>(NumberAt(encoded, 18, 4));
  const std::int64_t height =
      static_cast<std::int32_t>(NumberAt(encoded, 22, 4));
  if (width <= 0 || height == 0) return Corrupt();
  info_.width = static_cast<std::uint32_t>(width);
  info_.height = static_cast<std::uint32_t>(std::abs(height));
  const std::uint32_t packing = NumberAt(encoded, 30, 4);
  header_.bits = NumberAt(encoded, 28, 2);
  header_.pixels = NumberAt(encoded, 10, 4);
  header_.palette = std::uint64_t{kFileHeaderBytes} + header_bytes;
  if (packing == 1 || packing == 2) return NotRead("of packed runs");
  const bool is_masked = packing == 3;
  if (packing != 0 && !is_masked) return NotRead("of an unknown compression");
  switch (header_.bits) {
    case 1:
    case 4:
    case 8:
      if (is_masked || header_.pixels <= header_.palette) return Corrupt();
      if (NumberAt(encoded, 46, 4) > kMostColors) return Corrupt();
      // The palette is assumed to fill all bytes up to the pixels, even if
      // biClrUsed says something else.
      header_.colors = (header_.pixels - header_.palette) / 4;
      break;
    case 24:
    case 32: {
      // stb_image expects pixels right behind the header, or behind three
      // masks.
      const bool has_masks = is_masked && header_bytes <= kMaskedHeaderBytes;
      if (header_.pixels > header_.palette + (has_masks ? 12 : 0))
        return NotRead("with something between its header and its pixels");
      if (is_masked && !AreMasksKnown(encoded, header_.bits, header_bytes))
        return NotRead("with such masks of its colors");
      break;
    }
    default:
      return NotRead(absl::StrCat("of ", header_.bits, " bits a pixel"));
  }
  info_.scratch_bytes = kLibraryBytes + kStripPadding +
                        kColors * std::uint64_t{info_.width} * info_.height;
  FOREBAY_RETURN_IF_ERROR(CheckLimits("BMP", info_, limits_));
  // Truncation is found here, since stb_image would read zeros beyond the
  // file's end.
  const std::uint64_t pixel_bytes = RowBytes() * info_.height;
  if (header_.pixels > encoded.size() ||
      pixel_bytes > encoded.size() - header_.pixels) {
    return Truncated();
  }
  // stb_image counts bytes in ints.
  if (header_.pixels + pixel_bytes > INT_MAX) return Corrupt();
  encoded_ = encoded.first(header_.pixels + pixel_bytes);
  return absl::OkStatus();
}

absl::StatusOr<ImageInfo> BmpDecoder::Open(Bytes encoded) {
  encoded_ = {};
  info_ = {};
  header_ = {};
  if (encoded.size() < 2 || encoded[0] != 'B' || encoded[1] != 'M') {
    return absl::DataLossError("is not a BMP image");
  }
  if (encoded.size() < kFileHeaderBytes + kInfoHeaderBytes) return Truncated();
  FOREBAY_RETURN_IF_ERROR(ReadHeader(encoded));
  return info_;
}

absl::Status BmpDecoder::CheckIndices() const {
  if (header_.colors == 0 || header_.colors >= std::uint64_t{1}
                                                   << header_.bits) {
    return absl::OkStatus();
  }
  const std::uint32_t mask = (1U << header_.bits) - 1;
  for (std::uint32_t y = 0; y < info_.height; ++y) {
    const Bytes row = encoded_.subspan(header_.pixels + y * RowBytes());
    for (std::uint32_t x = 0; x < info_.width; ++x) {
      const std::uint64_t bit = std::uint64_t{x} * header_.bits;
      const std::uint32_t index =
          row[bit / 8] >> (8 - header_.bits - bit % 8) & mask;
      if (index >= header_.colors) {
        return absl::DataLossError("is a BMP image that lacks some colors");
      }
    }
  }
  return absl::OkStatus();
}

absl::Status BmpDecoder::Decode(const Region& region, RowSink& sink) {
  if (encoded_.empty()) {
    return absl::FailedPreconditionError("no image is open");
  }
  const Bytes encoded = encoded_;
  const absl::Status indices = CheckIndices();
  encoded_ = {};
  if (region.width == 0 || region.height == 0 || region.width > info_.width ||
      region.height > info_.height ||
      region.left > info_.width - region.width ||
      region.top > info_.height - region.height) {
    return absl::InvalidArgumentError("the region leaves the image");
  }
  FOREBAY_RETURN_IF_ERROR(indices);
  int width = 0;
  int height = 0;
  int channels = 0;
  const std::unique_ptr<stbi_uc, Freer> pixels(
      stbi_load_from_memory(encoded.data(), static_cast<int>(encoded.size()),
                            &width, &height, &channels, kColors));
  if (pixels == nullptr) return Corrupt();
  if (static_cast<std::uint32_t>(width) != info_.width ||
      static_cast<std::uint32_t>(height) != info_.height) {
    return Corrupt();
  }
  const std::size_t stride = kColors * info_.width;
  std::vector<std::uint8_t> strip(kStripRows * kColors * region.width +
                                  kStripPadding);
  for (std::uint32_t done = 0; done < region.height;) {
    const std::uint32_t count = std::min(kStripRows, region.height - done);
    for (std::uint32_t i = 0; i < count; ++i) {
      const stbi_uc* const row = pixels.get() +
                                 (region.top + done + i) * stride +
                                 kColors * region.left;
      std::copy_n(row, kColors * region.width,
                  strip.data() + i * kColors * region.width);
    }
    sink.Rows(done, count, strip.data(), kColors * region.width);
    done += count;
  }
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::decode

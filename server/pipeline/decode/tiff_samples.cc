// Decides which TIFF samples are read, and converts them to RGB.
//
// The tags that describe samples (TIFF 6.0, section 8) allow more combinations
// than Pillow reads. Pillow reads some combinations in its own way. A
// combination is accepted only if the code here gives Pillow's pixels for it.
// For other combinations, the error names what is not supported.

#include "server/pipeline/decode/tiff_samples.h"

#include <algorithm>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/base/status.h"

namespace forebay::pipeline::decode {
namespace {

constexpr std::size_t kColors = 3;
// Value of the tag PhotometricInterpretation for LogLuv colors.
constexpr std::uint16_t kSgiLogLuv = 32845;

absl::Status NotRead(absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("is a TIFF image with ", what, ", which are not read"));
}

// Values of the directory's tags that describe samples.
struct Tags {
  // Pillow's default, if the tag is missing.
  std::uint16_t photometric = PHOTOMETRIC_MINISWHITE;
  std::uint16_t bits = 1;
  std::uint16_t channels = 1;
  std::uint16_t format = SAMPLEFORMAT_UINT;
  std::uint16_t planar = PLANARCONFIG_CONTIG;
  std::uint16_t compression = COMPRESSION_NONE;
  std::uint16_t extra_count = 0;
  std::uint16_t first_extra = EXTRASAMPLE_UNSPECIFIED;
};

// Reads the tags. Missing tags have TIFF's defaults.
Tags ReadTags(TIFF* tiff) {
  Tags tags;
  TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &tags.photometric);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &tags.bits);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &tags.channels);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &tags.format);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &tags.planar);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &tags.compression);
  std::uint16_t* extras = nullptr;
  if (TIFFGetFieldDefaulted(tiff, TIFFTAG_EXTRASAMPLES, &tags.extra_count,
                            &extras) == 1 &&
      tags.extra_count > 0 && extras != nullptr) {
    tags.first_extra = extras[0];
  }
  return tags;
}

// Checks that pixels are compressed by a supported codec.
absl::Status CheckCompression(std::uint16_t compression) {
  switch (compression) {
    case COMPRESSION_NONE:
    case COMPRESSION_CCITTRLE:
    case COMPRESSION_CCITTFAX3:
    case COMPRESSION_CCITTFAX4:
    case COMPRESSION_LZW:
    case COMPRESSION_JPEG:
    case COMPRESSION_ADOBE_DEFLATE:
    case COMPRESSION_DEFLATE:
    case COMPRESSION_PACKBITS:
      return absl::OkStatus();
    default:
      return NotRead(absl::StrCat("pixels compressed by method ", compression));
  }
}

// Checks compression, sample format and color space.
absl::Status CheckKind(const Tags& tags) {
  FOREBAY_RETURN_IF_ERROR(CheckCompression(tags.compression));
  if (tags.format == SAMPLEFORMAT_IEEEFP) {
    return NotRead("floating-point samples");
  }
  if (tags.format == SAMPLEFORMAT_INT) return NotRead("signed samples");
  if (tags.format != SAMPLEFORMAT_UINT) {
    return NotRead(absl::StrCat("samples of format ", tags.format));
  }
  switch (tags.photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_RGB:
    case PHOTOMETRIC_PALETTE:
      return absl::OkStatus();
    case PHOTOMETRIC_YCBCR:
      // libjpeg converts YCbCr colors to RGB.
      if (tags.compression == COMPRESSION_JPEG &&
          tags.planar == PLANARCONFIG_CONTIG) {
        return absl::OkStatus();
      }
      return NotRead("YCbCr colors that are not JPEG's");
    case PHOTOMETRIC_SEPARATED:
      return NotRead("CMYK colors");
    case PHOTOMETRIC_CIELAB:
    case PHOTOMETRIC_ICCLAB:
    case PHOTOMETRIC_ITULAB:
      return NotRead("Lab colors");
    case PHOTOMETRIC_LOGL:
    case kSgiLogLuv:
      return NotRead("LogLuv colors");
    default:
      return NotRead(
          absl::StrCat("colors of photometric kind ", tags.photometric));
  }
}

// Returns the error for unusual numbers of samples and bits.
absl::Status NoSuchSamples(const Tags& tags) {
  return NotRead(
      absl::StrCat(tags.channels, " samples a pixel of ", tags.bits, " bits"));
}

// Checks samples of RGB images. A fourth channel may be alpha or unused.
absl::Status CheckColors(const Tags& tags) {
  constexpr std::uint16_t kMostChannels = 6;
  if (tags.bits != 8 && tags.bits != 16) return NoSuchSamples(tags);
  const bool planar = tags.planar != PLANARCONFIG_CONTIG;
  // Pillow reads up to three unused channels of 8 bits, but only one of 16
  // bits.
  const std::uint16_t most = !planar && tags.bits == 8 ? kMostChannels : 4;
  if (tags.channels < kColors || tags.channels > most ||
      (planar && tags.bits != 8)) {
    return NoSuchSamples(tags);
  }
  if (tags.channels > kColors &&
      (tags.first_extra == EXTRASAMPLE_ASSOCALPHA ||
       // Pillow treats an unspecified plane as associated alpha.
       (planar && tags.first_extra == EXTRASAMPLE_UNSPECIFIED))) {
    return NotRead("colors multiplied by alpha");
  }
  if (tags.photometric == PHOTOMETRIC_YCBCR &&
      (tags.channels != kColors || tags.bits != 8)) {
    return NoSuchSamples(tags);
  }
  return absl::OkStatus();
}

// Checks samples of gray and palette images.
absl::Status CheckIndices(const Tags& tags) {
  const bool known =
      tags.bits == 1 || tags.bits == 2 || tags.bits == 4 || tags.bits == 8 ||
      (tags.bits == 16 && tags.photometric != PHOTOMETRIC_PALETTE);
  if (!known) return NoSuchSamples(tags);
  if (tags.channels == 1) return absl::OkStatus();
  // A second channel must be alpha.
  if (tags.channels != 2 || tags.bits != 8 ||
      tags.planar != PLANARCONFIG_CONTIG ||
      tags.first_extra != EXTRASAMPLE_UNASSALPHA ||
      tags.photometric == PHOTOMETRIC_MINISWHITE) {
    return NoSuchSamples(tags);
  }
  return absl::OkStatus();
}

// Fills the table with grays scaled to 8 bits.
void FillGrays(const Tags& tags, TiffSamples& samples) {
  const unsigned most = (1U << tags.bits) - 1;
  for (unsigned i = 0; i <= most; ++i) {
    const unsigned gray = i * (255 / most);
    samples.table[i].fill(static_cast<std::uint8_t>(
        tags.photometric == PHOTOMETRIC_MINISWHITE ? 255 - gray : gray));
  }
}

// Fills the table with the palette's colors.
absl::Status FillPalette(TIFF* tiff, const Tags& tags, TiffSamples& samples) {
  std::uint16_t* red = nullptr;
  std::uint16_t* green = nullptr;
  std::uint16_t* blue = nullptr;
  if (TIFFGetField(tiff, TIFFTAG_COLORMAP, &red, &green, &blue) != 1 ||
      red == nullptr || green == nullptr || blue == nullptr) {
    return absl::DataLossError("is a TIFF image that lacks its palette");
  }
  // The high byte of each value is used, even if all high bytes are 0, as in
  // Pillow.
  for (std::size_t i = 0; i < std::size_t{1} << tags.bits; ++i) {
    samples.table[i] = {static_cast<std::uint8_t>(red[i] >> 8),
                        static_cast<std::uint8_t>(green[i] >> 8),
                        static_cast<std::uint8_t>(blue[i] >> 8)};
  }
  return absl::OkStatus();
}

// Returns a sample of 16 bits. libtiff gives it in the host's byte order.
std::uint16_t WideSample(const std::uint8_t* at) {
  std::uint16_t sample = 0;
  std::memcpy(&sample, at, sizeof(sample));
  return sample;
}

}  // namespace

absl::StatusOr<TiffSamples> ReadTiffSamples(TIFF* tiff) {
  const Tags tags = ReadTags(tiff);
  FOREBAY_RETURN_IF_ERROR(CheckKind(tags));
  TiffSamples samples;
  samples.bits = tags.bits;
  samples.channels = tags.channels;
  if (tags.photometric == PHOTOMETRIC_RGB ||
      tags.photometric == PHOTOMETRIC_YCBCR) {
    FOREBAY_RETURN_IF_ERROR(CheckColors(tags));
    samples.kind = TiffSamples::Kind::kRgb;
    samples.planar = tags.planar != PLANARCONFIG_CONTIG;
    if (tags.photometric == PHOTOMETRIC_YCBCR) {
      TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    }
    return samples;
  }
  FOREBAY_RETURN_IF_ERROR(CheckIndices(tags));
  if (tags.bits == 16) {
    samples.kind = TiffSamples::Kind::kGray16;
    return samples;
  }
  samples.kind = TiffSamples::Kind::kTable;
  if (tags.photometric == PHOTOMETRIC_PALETTE) {
    FOREBAY_RETURN_IF_ERROR(FillPalette(tiff, tags, samples));
  } else {
    FillGrays(tags, samples);
  }
  return samples;
}

void TiffSamples::ToRgb(const std::uint8_t* row, std::uint32_t first,
                        std::uint32_t count, std::uint8_t* rgb) const {
  // Bytes of a sample; 0 if several share a byte.
  const std::size_t sample_bytes = bits / 8;
  const std::size_t step = sample_bytes * channels;
  const std::uint8_t* at = row + first * step;
  const std::uint32_t mask = (1U << std::min(bits, 8U)) - 1;
  for (std::uint32_t i = 0; i < count; ++i, at += step, rgb += kColors) {
    switch (kind) {
      case Kind::kTable: {
        std::uint32_t index = 0;
        if (bits == 8) {
          index = *at;
        } else {
          const std::size_t bit = (std::size_t{first} + i) * bits;
          index = row[bit / 8] >> (8 - bits - bit % 8) & mask;
        }
        std::memcpy(rgb, table[index].data(), kColors);
        break;
      }
      case Kind::kGray16: {
        // Pillow clips 16-bit gray at 255.
        const std::uint16_t gray = WideSample(at);
        std::memset(rgb, gray > 255 ? 255 : gray, kColors);
        break;
      }
      case Kind::kRgb:
        for (std::size_t c = 0; c < kColors; ++c) {
          rgb[c] = bits == 8
                       ? at[c]
                       : static_cast<std::uint8_t>(WideSample(at + 2 * c) >> 8);
        }
        break;
    }
  }
}

}  // namespace forebay::pipeline::decode

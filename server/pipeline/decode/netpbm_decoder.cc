// Decodes Netpbm images. A header of decimal numbers is followed by rows of raw
// samples. A region is read from its place in the file, without decoding the
// rest. If the largest value is above 255, a sample takes two bytes, the high
// byte first. Values are scaled as Pillow scales them. For samples of one byte,
// a table has the scaled values.

#include "server/pipeline/decode/netpbm_decoder.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/base/status.h"

namespace forebay::pipeline::decode {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

constexpr std::uint32_t kStripRows = 8;
constexpr std::uint32_t kColors = 3;
// Bytes of the magic number, and of the white space behind it.
constexpr std::size_t kMagicBytes = 3;
// The most digits of a number in the header, as in Pillow.
constexpr std::size_t kMostDigits = 10;
// The highest number that a header may state as the largest sample value.
constexpr std::uint32_t kMostLargest = 65535;
constexpr std::uint32_t kByte = 255;

// Returns the format's name for the magic number's digit.
const char* NameOf(char kind) {
  if (kind == '1' || kind == '4') return "PBM";
  return kind == '2' || kind == '5' ? "PGM" : "PPM";
}

// Returns the error for an image that is not read.
absl::Status Refusal(char kind, absl::string_view why) {
  return absl::DataLossError(
      absl::StrCat("is a ", NameOf(kind), " image", why));
}

absl::Status Truncated(char kind) {
  return absl::DataLossError(
      absl::StrCat("is a truncated ", NameOf(kind), " image"));
}

// Takes a number off the front of `rest`, and one character of white space
// behind the number. A comment may stand even between digits, as in Pillow. A
// comment ends with its line, and does not count as white space. Returns
// nullopt if there is no number.
std::optional<std::uint32_t> TakeNumber(Bytes& rest) {
  std::string digits;
  while (!rest.empty()) {
    const char c = static_cast<char>(rest.front());
    rest.remove_prefix(1);
    if (c == '#') {
      const auto* const end = std::find_if(
          rest.begin(), rest.end(),
          [](std::uint8_t byte) { return byte == '\r' || byte == '\n'; });
      rest.remove_prefix(std::min(
          rest.size(), static_cast<std::size_t>(end - rest.begin()) + 1));
    } else if (absl::ascii_isspace(static_cast<unsigned char>(c))) {
      if (!digits.empty()) break;
    } else if (!absl::ascii_isdigit(static_cast<unsigned char>(c)) ||
               digits.size() == kMostDigits) {
      return std::nullopt;
    } else {
      digits += c;
    }
  }
  std::uint64_t number = 0;
  if (!absl::SimpleAtoi(digits, &number)) return std::nullopt;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(
      number, std::numeric_limits<std::uint32_t>::max()));
}

// Scales `value` from 0..`largest` to 0..`range`, and clips it at 255. Halves
// are rounded to even, as in Python.
std::uint8_t LevelOf(std::uint32_t value, std::uint32_t largest,
                     std::uint32_t range) {
  const double scaled = static_cast<double>(value) / largest * range;
  return static_cast<std::uint8_t>(
      std::min(std::nearbyint(scaled), static_cast<double>(kByte)));
}

}  // namespace

std::uint64_t NetpbmDecoder::RowBytes() const {
  const std::uint64_t width = info_.width;
  if (kind_ == '4') return (width + 7) / 8;
  return width * (kind_ == '6' ? kColors : 1) * (largest_ > kByte ? 2 : 1);
}

void NetpbmDecoder::SetLevels(std::uint32_t largest) {
  largest_ = largest;
  for (std::uint32_t value = 0; value <= kByte; ++value)
    levels_[value] = LevelOf(value, largest, kByte);
}

absl::Status NetpbmDecoder::ReadHeader(Bytes encoded) {
  Bytes rest = encoded.subspan(kMagicBytes);
  const auto width = TakeNumber(rest);
  const auto height = TakeNumber(rest);
  const auto largest = kind_ == '4' ? 1 : TakeNumber(rest);
  if (!width || !height || !largest) {
    if (rest.empty()) return Truncated(kind_);
    return Refusal(kind_, " whose header lacks a number");
  }
  if (*width == 0 || *height == 0) return Refusal(kind_, " without pixels");
  if (*largest == 0 || *largest > kMostLargest) {
    return Refusal(kind_, absl::StrCat(" whose largest value is ", *largest,
                                       ", not 1 to ", kMostLargest));
  }
  info_.width = *width;
  info_.height = *height;
  info_.scratch_bytes =
      kStripRows * std::uint64_t{kColors} * info_.width + kStripPadding;
  FOREBAY_RETURN_IF_ERROR(CheckLimits(NameOf(kind_), info_, limits_));
  SetLevels(*largest);
  // The check divides, because multiplying RowBytes() by the height might
  // overflow.
  if (rest.size() / RowBytes() < info_.height) return Truncated(kind_);
  rows_ = rest.first(RowBytes() * info_.height);
  return absl::OkStatus();
}

absl::StatusOr<ImageInfo> NetpbmDecoder::Open(Bytes encoded) {
  rows_ = {};
  info_ = {};
  if (encoded.size() < kMagicBytes || encoded[0] != 'P' || encoded[1] < '1' ||
      encoded[1] > '6' || !absl::ascii_isspace(encoded[2])) {
    return absl::DataLossError("is not a PPM image");
  }
  kind_ = static_cast<char>(encoded[1]);
  if (kind_ < '4')
    return Refusal(kind_, " in its text form, which is not read");
  FOREBAY_RETURN_IF_ERROR(ReadHeader(encoded));
  return info_;
}

std::uint8_t NetpbmDecoder::LevelAt(const std::uint8_t* row,
                                    std::uint64_t sample) const {
  if (largest_ <= kByte) return levels_[row[sample]];
  const std::uint32_t value = row[2 * sample] << 8 | row[2 * sample + 1];
  // Pillow first scales 16-bit gray to 65,535, and then clips it at 255.
  return LevelOf(value, largest_, kind_ == '5' ? kMostLargest : kByte);
}

void NetpbmDecoder::Widen(const std::uint8_t* row, std::uint32_t left,
                          std::uint32_t count, std::uint8_t* rgb) const {
  if (kind_ == '6') {
    const std::uint64_t first = std::uint64_t{kColors} * left;
    if (largest_ == kByte) {
      std::memcpy(rgb, row + first, std::size_t{kColors} * count);
      return;
    }
    for (std::uint64_t i = 0; i < std::uint64_t{kColors} * count; ++i)
      rgb[i] = LevelAt(row, first + i);
    return;
  }
  for (std::uint32_t i = 0; i < count; ++i, rgb += kColors) {
    const std::uint32_t x = left + i;
    const bool is_black = kind_ == '4' && (row[x / 8] >> (7 - x % 8) & 1) != 0;
    const std::uint8_t gray =
        kind_ == '4' ? (is_black ? 0 : kByte) : LevelAt(row, x);
    std::memset(rgb, gray, kColors);
  }
}

absl::Status NetpbmDecoder::Decode(const Region& region, RowSink& sink) {
  if (rows_.empty()) return absl::FailedPreconditionError("no image is open");
  const Bytes rows = rows_;
  rows_ = {};
  if (!LiesIn(region, info_.width, info_.height))
    return absl::InvalidArgumentError("the region leaves the image");
  const std::size_t stride = std::size_t{kColors} * region.width;
  std::vector<std::uint8_t> strip(std::min(kStripRows, region.height) * stride +
                                  kStripPadding);
  for (std::uint32_t done = 0; done < region.height;) {
    const std::uint32_t count = std::min(kStripRows, region.height - done);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t y = std::uint64_t{region.top} + done + i;
      Widen(rows.data() + y * RowBytes(), region.left, region.width,
            strip.data() + i * stride);
    }
    sink.Rows(done, count, strip.data(), stride);
    done += count;
  }
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::decode

// Finds metadata in PNG files: eXIf chunks and the text chunks tEXt, zTXt and
// iTXt. CRCs of chunks are not checked here. ImageMagick writes EXIF data in
// hexadecimal, into a text chunk with the keyword "Raw profile type exif".

#include "server/pipeline/decode/png_metadata.h"

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "absl/strings/ascii.h"

namespace forebay::pipeline::decode {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

constexpr std::string_view kExif = "exif";
constexpr std::string_view kExifProfile = "Raw profile type exif";
constexpr std::string_view kXmp = "XML:com.adobe.xmp";

std::string_view AsText(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Removes the front of `*bytes` through the first 0 byte, and returns the bytes
// before that 0 byte. Returns nullopt if there is no 0 byte.
std::optional<std::string_view> TakeWord(Bytes* bytes) {
  const auto* const end = std::find(bytes->begin(), bytes->end(), 0);
  if (end == bytes->end()) return std::nullopt;
  const Bytes word =
      bytes->first(static_cast<std::size_t>(end - bytes->begin()));
  bytes->remove_prefix(word.size() + 1);
  return AsText(word);
}

// Stores a text in `found` if its keyword is that of an EXIF profile or of XMP.
void Keep(std::string_view keyword, const PngText& text, PngMetadata* found) {
  if (keyword == kExifProfile) found->exif_profile = text;
  if (keyword == kXmp) found->xmp = text;
}

// Reads the data of a text chunk (PNG specification, "Textual information"):
// tEXt, zTXt or iTXt.
void SeeText(std::string_view type, Bytes data, PngMetadata* found) {
  const auto keyword = TakeWord(&data);
  if (!keyword.has_value()) return;
  if (type == "tEXt") {
    if (*keyword == kExif) found->exif = data;
    Keep(*keyword, {.bytes = data}, found);
  } else if (type == "zTXt") {
    if (data.empty() || data[0] != 0) return;
    Keep(*keyword, {.bytes = data.subspan(1), .is_compressed = true}, found);
  } else if (data.size() >= 2) {
    const bool is_compressed = data[0] != 0;
    const bool is_known = !is_compressed || data[1] == 0;
    data.remove_prefix(2);
    // The language tag and the translated keyword come before the text.
    if (!is_known || !TakeWord(&data) || !TakeWord(&data)) return;
    Keep(*keyword, {.bytes = data, .is_compressed = is_compressed}, found);
  }
}

std::optional<std::uint8_t> DigitOf(std::uint8_t letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  letter |= 0x20U;
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  return std::nullopt;
}

}  // namespace

PngMetadata FindPngMetadata(Bytes file) {
  constexpr std::size_t kSignature = 8;
  // Bytes around a chunk's data: its length and type before the data, and its
  // CRC behind the data.
  constexpr std::size_t kAroundData = 12;
  PngMetadata found;
  Bytes rest = file.subspan(std::min(file.size(), kSignature));
  while (rest.size() >= kAroundData) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length = length << 8 | rest[i];
    if (length > rest.size() - kAroundData) break;
    const std::string_view type = AsText(rest.subspan(4, 4));
    const Bytes data = rest.subspan(8, length);
    if (type == "IEND") break;
    if (type == "eXIf") found.exif = data;
    if (type == "tEXt" || type == "zTXt" || type == "iTXt")
      SeeText(type, data, &found);
    rest.remove_prefix(kAroundData + length);
  }
  return found;
}

Bytes Decompress(const PngText& text, std::vector<std::uint8_t>* room) {
  constexpr std::size_t kLongest = 1 << 20;
  if (!text.is_compressed || text.bytes.empty()) return text.bytes;
  room->resize(kLongest);
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return {};
  stream.next_in = const_cast<std::uint8_t*>(text.bytes.data());
  stream.avail_in = static_cast<uInt>(text.bytes.size());
  stream.next_out = room->data();
  stream.avail_out = kLongest;
  const int result = inflate(&stream, Z_SYNC_FLUSH);
  inflateEnd(&stream);
  // A stream that is cut off gives as much of the text as it has.
  const bool is_whole =
      result == Z_STREAM_END ||
      ((result == Z_OK || result == Z_BUF_ERROR) && stream.avail_out > 0);
  if (!is_whole) return {};
  return absl::MakeConstSpan(room->data(), kLongest - stream.avail_out);
}

std::vector<std::uint8_t> ExifInProfile(Bytes profile) {
  // A profile begins with an empty line, its name and its length.
  for (int line = 0; line < 3; ++line) {
    const auto* const end = std::find(profile.begin(), profile.end(), '\n');
    if (end == profile.end()) return {};
    profile.remove_prefix(static_cast<std::size_t>(end - profile.begin()) + 1);
  }
  std::vector<std::uint8_t> exif;
  exif.reserve(profile.size() / 2);
  // Python's bytes.fromhex skips white space between bytes.
  for (std::size_t i = 0; i < profile.size(); ++i) {
    if (absl::ascii_isspace(profile[i])) continue;
    const auto high = DigitOf(profile[i]);
    const auto low =
        i + 1 < profile.size() ? DigitOf(profile[i + 1]) : std::nullopt;
    if (!high.has_value() || !low.has_value()) return {};
    exif.push_back(static_cast<std::uint8_t>(*high << 4 | *low));
    ++i;
  }
  return exif;
}

}  // namespace forebay::pipeline::decode

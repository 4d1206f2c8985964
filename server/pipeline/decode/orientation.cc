// Finds an image's orientation as Pillow's ImageOps.exif_transpose does. Each
// format keeps EXIF data and XMP in a place of its own. EXIF data is a TIFF
// file, whose first directory may have the tag Orientation (274). If the EXIF
// data has no orientation, Pillow looks in the XMP packet. Damaged metadata is
// not an error: the orientation is then 1.

#include "server/pipeline/decode/orientation.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "server/pipeline/decode/avif_metadata.h"
#include "server/pipeline/decode/format.h"
#include "server/pipeline/decode/png_metadata.h"

namespace forebay::pipeline::decode {
namespace {

using Bytes = absl::Span<const std::uint8_t>;
using std::string_view_literals::operator""sv;

// A file's blocks of metadata. A block that the file lacks is empty.
struct Metadata {
  Bytes exif;
  Bytes xmp;
};

bool StartsWith(Bytes bytes, std::string_view text) {
  return bytes.size() >= text.size() &&
         std::equal(text.begin(), text.end(), bytes.begin(),
                    [](char a, std::uint8_t b) {
                      return static_cast<std::uint8_t>(a) == b;
                    });
}

// Returns the number in the first `count` bytes.
std::uint32_t Number(Bytes bytes, std::size_t count, bool little_endian) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < count; ++i)
    number = number << 8 | bytes[little_endian ? count - 1 - i : i];
  return number;
}

// Returns how many bytes a value of a TIFF integer type takes (TIFF 6.0,
// section 2); 0 for other types.
std::size_t BytesOfType(std::uint32_t type) {
  switch (type) {
    case 6:  // SBYTE
      return 1;
    case 3:  // SHORT
    case 8:  // SSHORT
      return 2;
    case 4:   // LONG
    case 9:   // SLONG
    case 13:  // IFD
      return 4;
    default:
      return 0;
  }
}

// Bytes of a directory entry: tag, type, count, and value or offset.
constexpr std::size_t kEntry = 12;

// Returns the first value of a directory entry. Returns kNoOrientation if
// Pillow takes the entry but its value cannot be an orientation. Returns 0 if
// Pillow skips the entry.
std::uint32_t FirstValue(Bytes exif, Bytes entry, bool little_endian) {
  constexpr std::uint32_t kNoOrientation = 9;
  constexpr std::uint32_t kLastType = 13;
  const std::uint32_t type = Number(entry.subspan(2), 2, little_endian);
  const std::uint64_t count = Number(entry.subspan(4), 4, little_endian);
  if (type == 0 || type > kLastType || count == 0) return 0;
  const std::size_t bytes = BytesOfType(type);
  if (bytes == 0) return kNoOrientation;
  Bytes values = entry.subspan(8, 4);
  if (bytes * count > values.size()) {
    const std::size_t offset = Number(values, 4, little_endian);
    if (offset > exif.size() || bytes * count > exif.size() - offset) return 0;
    values = exif.subspan(offset);
  }
  const std::uint32_t value = Number(values, bytes, little_endian);
  return value == 0 ? kNoOrientation : value;
}

// Finds metadata in a JPEG file's APP1 segments, up to the first scan.
Metadata InJpeg(Bytes file) {
  constexpr std::uint8_t kStartOfScan = 0xda;
  constexpr std::uint8_t kApplication1 = 0xe1;
  constexpr std::string_view kXmp = "http://ns.adobe.com/xap/1.0/\0"sv;
  Metadata found;
  Bytes rest = file.subspan(2);
  while (rest.size() >= 4) {
    const std::uint8_t code = rest[1];
    if (rest[0] != 0xff || code == 0xff) {
      rest.remove_prefix(1);
      continue;
    }
    if (code == kStartOfScan) break;
    // These markers have no segment (ITU-T T.81, B.1.1.3).
    if (code <= 0x01 || (code >= 0xd0 && code <= 0xd8)) {
      rest.remove_prefix(2);
      continue;
    }
    const std::size_t length = Number(rest.subspan(2), 2, false);
    if (length < 2 || length > rest.size() - 2) break;
    const Bytes data = rest.subspan(4, length - 2);
    if (code == kApplication1 && StartsWith(data, "Exif\0\0"sv)) {
      // A long EXIF block continues in further segments, but its first
      // directory lies in the first segment.
      if (found.exif.empty()) found.exif = data;
    } else if (code == kApplication1 && StartsWith(data, kXmp)) {
      found.xmp = data.subspan(kXmp.size());
    }
    rest.remove_prefix(2 + length);
  }
  return found;
}

// Finds metadata in a WebP file (RFC 9649, "Extended File Format"). Only the
// first chunk of each kind is used, and only if the "VP8X" chunk's flags
// announce such a chunk.
Metadata InWebp(Bytes file) {
  constexpr std::size_t kFileHeader = 12;
  constexpr std::size_t kChunkHeader = 8;
  constexpr std::uint8_t kHasXmp = 4;
  constexpr std::uint8_t kHasExif = 8;
  Metadata found;
  Bytes rest = file.subspan(kFileHeader);
  if (!StartsWith(rest, "VP8X"sv) || rest.size() <= kChunkHeader) return found;
  const std::uint8_t flags = rest[kChunkHeader];
  while (rest.size() >= kChunkHeader) {
    const std::size_t length = Number(rest.subspan(4), 4, true);
    if (length > rest.size() - kChunkHeader) break;
    const Bytes data = rest.subspan(kChunkHeader, length);
    if (StartsWith(rest, "EXIF"sv) && (flags & kHasExif) != 0 &&
        found.exif.empty()) {
      found.exif = data;
    } else if (StartsWith(rest, "XMP "sv) && (flags & kHasXmp) != 0 &&
               found.xmp.empty()) {
      found.xmp = data;
    }
    rest.remove_prefix(
        std::min(rest.size(), kChunkHeader + length + length % 2));
  }
  return found;
}

// Returns the digit behind the tag's name in XMP. Searches by Pillow's pattern:
//   tiff:Orientation(="|>)([0-9])
std::uint32_t OrientationInXmp(Bytes xmp) {
  constexpr std::string_view kName = "tiff:Orientation";
  const std::string_view text(reinterpret_cast<const char*>(xmp.data()),
                              xmp.size());
  for (std::size_t at = text.find(kName); at != std::string_view::npos;
       at = text.find(kName, at + 1)) {
    std::string_view rest = text.substr(at + kName.size());
    const std::size_t before = rest.substr(0, 2) == "=\"" ? 2
                               : rest.substr(0, 1) == ">" ? 1
                                                          : 0;
    if (before == 0 || rest.size() <= before) continue;
    const char digit = rest[before];
    if (digit >= '0' && digit <= '9')
      return static_cast<std::uint32_t>(digit - '0');
  }
  return 0;
}

// Returns the orientation in EXIF data; without one, the orientation in XMP.
std::uint32_t OrientationIn(const Metadata& metadata) {
  const std::uint32_t orientation = OrientationInExif(metadata.exif);
  return orientation != 0 ? orientation : OrientationInXmp(metadata.xmp);
}

std::uint32_t OrientationInPng(Bytes file) {
  const PngMetadata found = FindPngMetadata(file);
  std::vector<std::uint8_t> room;
  const std::uint32_t orientation =
      found.exif.has_value() ? OrientationInExif(*found.exif)
                             : OrientationInExif(ExifInProfile(
                                   Decompress(found.exif_profile, &room)));
  return orientation != 0 ? orientation
                          : OrientationInXmp(Decompress(found.xmp, &room));
}

// Returns the orientation of an AVIF file that has neither rotation nor
// mirroring. For such a file, Pillow replaces an orientation in EXIF data by 1,
// but keeps an orientation in XMP.
std::uint32_t OrientationInAvif(Bytes file) {
  const AvifMetadata found(file);
  if (OrientationInExif(found.exif()) != 0) return 1;
  return OrientationInXmp(found.xmp());
}

// Returns the orientation number in the file's metadata. The number may be
// invalid.
std::uint32_t AnyOrientationOf(Bytes file) {
  switch (GuessFormat(file).format) {
    case Format::kJpeg:
      return OrientationIn(InJpeg(file));
    case Format::kPng:
      return OrientationInPng(file);
    case Format::kWebp:
      return OrientationIn(InWebp(file));
    case Format::kAvif:
      return OrientationInAvif(file);
    default:
      return 1;
  }
}

}  // namespace

std::uint32_t OrientationInExif(Bytes exif) {
  constexpr std::size_t kHeader = 8;
  constexpr std::uint32_t kOrientation = 274;
  constexpr std::string_view kName = "Exif\0\0"sv;
  while (StartsWith(exif, kName)) exif.remove_prefix(kName.size());
  const bool little_endian = StartsWith(exif, "II*\0"sv);
  if (exif.size() < kHeader ||
      (!little_endian && !StartsWith(exif, "MM\0*"sv))) {
    return 0;
  }
  const std::size_t directory = Number(exif.subspan(4), 4, little_endian);
  if (directory > exif.size() || exif.size() - directory < 2) return 0;
  Bytes rest = exif.subspan(directory);
  std::size_t entries = Number(rest, 2, little_endian);
  rest.remove_prefix(2);
  for (; entries > 0 && rest.size() >= kEntry; --entries) {
    if (Number(rest, 2, little_endian) == kOrientation) {
      const std::uint32_t value = FirstValue(exif, rest, little_endian);
      if (value != 0) return value;
    }
    rest.remove_prefix(kEntry);
  }
  return 0;
}

std::uint32_t OrientationOf(Bytes file) {
  const std::uint32_t orientation = AnyOrientationOf(file);
  return orientation >= 1 && orientation <= 8 ? orientation : 1;
}

}  // namespace forebay::pipeline::decode

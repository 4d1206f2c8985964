#include "server/dataset/shards/tar_header.h"

#include <algorithm>
#include <string_view>

#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::dataset::shards {
namespace {

// The place of a field in a header block. Both numbers are in bytes.
struct Field {
  std::size_t offset;
  std::size_t length;
};
// The fields of a "ustar Interchange Format" header block (POSIX.1-2017, pax).
// The older v7 format has the fields up to linkname, but not magic and prefix.
constexpr Field kName = {0, 100};
constexpr Field kSize = {124, 12};
constexpr Field kChecksum = {148, 8};
constexpr std::size_t kType = 156;
constexpr Field kMagic = {257, 6};
constexpr Field kPrefix = {345, 155};

// The magic of POSIX headers. GNU's magic is "ustar ", and GNU's headers have
// no prefix field.
constexpr std::string_view kUstar("ustar\0", 6);

// Returns the bytes of a field.
std::string_view Text(absl::Span<const std::uint8_t> block, Field field) {
  return {reinterpret_cast<const char*>(block.data()) + field.offset,
          field.length};
}

std::string_view UpToNul(std::string_view text) {
  return text.substr(0, text.find('\0'));
}

absl::Status NotANumber() {
  return absl::DataLossError("a number in the tar header is malformed");
}

// Parses octal digits between blanks, up to a NUL or the field's end. Without
// digits, the number is 0.
absl::StatusOr<std::uint64_t> ParseOctal(std::string_view text) {
  text = UpToNul(text);
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  text.remove_prefix(begin);
  const std::size_t digits =
      std::min(text.find_first_not_of("01234567"), text.size());
  if (text.find_first_not_of(' ', digits) != text.npos) return NotANumber();
  std::uint64_t number = 0;  // at most 12 digits of 3 bits
  for (const char digit : text.substr(0, digits)) {
    number = number * 8 + (digit - '0');
  }
  return number;
}

// Parses a number: octal digits, or GNU's base-256 form for larger numbers. The
// base-256 form has a set bit, a sign bit, and then the number, big-endian.
absl::StatusOr<std::uint64_t> ParseNumber(std::string_view text) {
  const auto first = static_cast<std::uint8_t>(text[0]);
  if ((first & 0x80) == 0) return ParseOctal(text);
  if ((first & 0x40) != 0) return NotANumber();
  std::uint64_t number = first & 0x3f;
  for (const char byte : text.substr(1)) {
    if (number > UINT64_MAX >> 9) return NotANumber();
    number = number << 8 | static_cast<std::uint8_t>(byte);
  }
  return number;
}

// Checks the chksum field. It must be the sum of all bytes of the block, with
// blanks in place of the field itself (POSIX.1-2017, pax). Some old programs
// added the bytes as signed numbers, so this sum is accepted, too.
absl::Status CheckSum(absl::Span<const std::uint8_t> block) {
  const auto expected = ParseOctal(Text(block, kChecksum));
  std::int64_t plain = 0;
  std::int64_t with_sign = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool own = i - kChecksum.offset < kChecksum.length;
    const std::uint8_t byte = own ? ' ' : block[i];
    plain += byte;
    with_sign += static_cast<std::int8_t>(byte);
  }
  if (!expected.ok() || (*expected != plain && *expected != with_sign)) {
    return absl::DataLossError(
        "there is no tar header (its checksum does not match)");
  }
  return absl::OkStatus();
}

// Returns the kind that the typeflag field stands for: POSIX's values, and the
// vendors' letters.
TarKind KindOf(char type) {
  switch (type) {
    case '\0':
    case '0':
    case '7':  // POSIX: a high-performance file
      return TarKind::kFile;
    case '1':
    case '2':
      return TarKind::kLink;
    case 'S':
      return TarKind::kSparseFile;
    case 'L':
      return TarKind::kLongName;
    case 'K':
      return TarKind::kLongLink;
    case 'x':
    case 'X':  // Solaris
      return TarKind::kAttributes;
    case 'g':
      return TarKind::kGlobalAttributes;
    default:
      return TarKind::kOther;
  }
}

}  // namespace

absl::StatusOr<std::optional<TarHeader>> ParseTarHeader(
    absl::Span<const std::uint8_t> block) {
  FOREBAY_CHECK(block.size() == kTarBlock);
  if (std::all_of(block.begin(), block.end(),
                  [](std::uint8_t byte) { return byte == 0; })) {
    return std::nullopt;
  }
  FOREBAY_RETURN_IF_ERROR(CheckSum(block));
  const char type = static_cast<char>(block[kType]);
  TarHeader header;
  header.kind = KindOf(type);
  header.name = UpToNul(Text(block, kName));
  // Typeflags '1' to '6' are links, devices, directories and FIFOs: they may
  // state a size, but no data follows.
  header.has_data = type < '1' || type > '6';
  // In the v7 format a directory is a file whose name ends with a slash.
  if (type == '\0' && header.name.ends_with('/')) {
    header.kind = TarKind::kOther;
    header.has_data = false;
  }
  if (Text(block, kMagic) == kUstar) {
    const std::string_view prefix = UpToNul(Text(block, kPrefix));
    if (!prefix.empty()) {
      header.name = std::string(prefix) + '/' + header.name;
    }
  }
  if (header.has_data) {
    FOREBAY_ASSIGN_OR_RETURN(header.data_bytes,
                             ParseNumber(Text(block, kSize)));
  }
  return header;
}

}  // namespace forebay::dataset::shards

#include "server/dataset/shards/tar_header.h"

#include <algorithm>
#include <string_view>

#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::dataset::shards {
namespace {

struct Field {
  std::size_t offset;
  std::size_t length;
};
constexpr Field kName = {0, 100};
constexpr Field kSize = {124, 12};
constexpr Field kChecksum = {148, 8};
constexpr std::size_t kType = 156;
constexpr Field kMagic = {257, 6};
constexpr Field kPrefix = {345, 155};

// POSIX's magic. GNU's differs, since GNU has no prefix there.
constexpr std::string_view kUstar("ustar\0", 6);

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

// Parses digits between blanks, up to a NUL or the end. No digits mean zero.
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

// Parses octal digits. A number too large for them is binary and big-endian,
// behind a set bit and a sign bit.
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

// Checks the sum of all bytes, where the checksum's own count as blanks. Old
// programs summed signed bytes.
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

TarKind KindOf(char type) {
  switch (type) {
    case '\0':
    case '0':
    case '7':  // contiguous
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
  // Links, devices, directories and FIFOs may have a size, but never data.
  header.has_data = type < '1' || type > '6';
  // In the old format a directory is a file whose name ends so.
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

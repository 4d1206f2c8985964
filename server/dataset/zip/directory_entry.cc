#include "server/dataset/zip/directory_entry.h"

#include <cstddef>

#include "server/base/status.h"
#include "server/dataset/zip/little_endian.h"

namespace forebay::dataset::zip {
namespace {

// The signature and the fixed bytes of a "central file header" (APPNOTE
// 4.3.12).
constexpr std::uint32_t kSignature = 0x02014b50;
constexpr std::size_t kFixedBytes = 46;
// An extra field begins with a header ID and a data size, two bytes each
// (APPNOTE 4.5.1). ID 1 is the "Zip64 Extended Information" field (4.5.3).
constexpr std::size_t kExtraHeaderBytes = 4;
constexpr std::uint16_t kZip64 = 1;

// If `marked` is set, removes a number from the front of a zip64 field and
// stores it in `number`. Returns false if the field is too short.
template <typename Wide>
bool TakeIf(bool marked, absl::Span<const std::uint8_t>& field, Wide* number) {
  if (!marked) return true;
  if (field.size() < sizeof(Wide)) return false;
  *number = NumberAt<Wide>(field, 0);
  field.remove_prefix(sizeof(Wide));
  return true;
}

// Replaces the numbers that were too large for the entry itself. In the entry,
// such a number has all bits set. The zip64 field has the wide numbers, in the
// order of the code below (APPNOTE 4.5.3).
absl::Status ApplyZip64(absl::Span<const std::uint8_t> field,
                        DirectoryEntry& entry) {
  if (!TakeIf(entry.length == UINT32_MAX, field, &entry.length) ||
      !TakeIf(entry.compressed == UINT32_MAX, field, &entry.compressed) ||
      !TakeIf(entry.header_offset == UINT32_MAX, field, &entry.header_offset) ||
      !TakeIf(entry.disk == UINT16_MAX, field, &entry.disk)) {
    return absl::DataLossError("a zip64 field is too short");
  }
  return absl::OkStatus();
}

// Applies the entry's zip64 field, if there is one. Ignores other extra fields.
absl::Status ApplyExtraFields(absl::Span<const std::uint8_t> extra,
                              DirectoryEntry& entry) {
  // If fewer bytes are left than a field's header has, they are padding, which
  // some writers add to align data.
  while (extra.size() >= kExtraHeaderBytes) {
    const auto kind = NumberAt<std::uint16_t>(extra, 0);
    const auto length = NumberAt<std::uint16_t>(extra, 2);
    extra.remove_prefix(kExtraHeaderBytes);
    if (length > extra.size()) {
      return absl::DataLossError("an extra field is longer than all of them");
    }
    if (kind == kZip64) {
      FOREBAY_RETURN_IF_ERROR(ApplyZip64(extra.first(length), entry));
    }
    extra.remove_prefix(length);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::optional<DirectoryEntry>> ParseDirectoryEntry(
    absl::Span<const std::uint8_t> bytes) {
  if (bytes.size() < kFixedBytes) return std::nullopt;
  if (NumberAt<std::uint32_t>(bytes, 0) != kSignature) {
    return absl::DataLossError("there is no entry of a zip directory");
  }
  // "File name length", "extra field length" and "file comment length".
  const std::size_t name = NumberAt<std::uint16_t>(bytes, 28);
  const std::size_t extra = NumberAt<std::uint16_t>(bytes, 30);
  const std::size_t comment = NumberAt<std::uint16_t>(bytes, 32);
  if (bytes.size() - kFixedBytes < name + extra + comment) return std::nullopt;
  DirectoryEntry entry = {
      .bytes = kFixedBytes + name + extra + comment,
      .name = {reinterpret_cast<const char*>(bytes.data()) + kFixedBytes, name},
      .host = bytes[5],
      .version = bytes[6],
      .flags = NumberAt<std::uint16_t>(bytes, 8),
      .method = NumberAt<std::uint16_t>(bytes, 10),
      .crc32 = NumberAt<std::uint32_t>(bytes, 16),
      .compressed = NumberAt<std::uint32_t>(bytes, 20),
      .length = NumberAt<std::uint32_t>(bytes, 24),
      .disk = NumberAt<std::uint16_t>(bytes, 34),
      .header_offset = NumberAt<std::uint32_t>(bytes, 42),
  };
  FOREBAY_RETURN_IF_ERROR(
      ApplyExtraFields(bytes.subspan(kFixedBytes + name, extra), entry));
  return entry;
}

}  // namespace forebay::dataset::zip

#ifndef FOREBAY_SERVER_DATASET_ZIP_DIRECTORY_ENTRY_H_
#define FOREBAY_SERVER_DATASET_ZIP_DIRECTORY_ENTRY_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace forebay::dataset::zip {

// A central directory header (APPNOTE 4.3.12). Numbers that were too large for
// the header come from its zip64 extra field.
struct DirectoryEntry {
  std::uint64_t bytes = 0;          // length of the entry itself
  std::string_view name;            // points into the bytes that were parsed
  std::uint8_t host = 0;            // "version made by", upper byte (4.4.2)
  std::uint8_t version = 0;         // "version needed to extract" (4.4.3)
  std::uint16_t flags = 0;          // general purpose bit flag (4.4.4)
  std::uint16_t method = 0;         // compression method (4.4.5)
  std::uint32_t crc32 = 0;          // of the decompressed bytes
  std::uint64_t compressed = 0;     // compressed size; bytes
  std::uint64_t length = 0;         // uncompressed size; bytes
  std::uint32_t disk = 0;           // number of the split archive's file
  std::uint64_t header_offset = 0;  // in bytes, as the writer counted them
};

// The value of `host` for MS-DOS (APPNOTE 4.4.2.2). .NET's writers use it, too.
inline constexpr std::uint8_t kDosHost = 0;

// Bits of the general purpose bit flag (APPNOTE 4.4.4).
inline constexpr std::uint16_t kEncrypted = 1 << 0;
inline constexpr std::uint16_t kPatch = 1 << 5;
inline constexpr std::uint16_t kStronglyEncrypted = 1 << 6;
inline constexpr std::uint16_t kMaskedHeader = 1 << 13;

// The longest possible entry, in bytes: its fixed part, and a name, extra
// fields and a comment of the greatest length.
inline constexpr std::uint64_t kLongestEntry = 46 + 3 * UINT16_MAX;

// Parses the entry at the start of `bytes`. Returns nothing if `bytes` end
// before the entry does. DATA_LOSS: there is no entry, or its extra fields are
// damaged; the error gives the reason alone. Thread-safe; never blocks.
absl::StatusOr<std::optional<DirectoryEntry>> ParseDirectoryEntry(
    absl::Span<const std::uint8_t> bytes);

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_DIRECTORY_ENTRY_H_

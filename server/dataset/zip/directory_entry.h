#ifndef FOREBAY_SERVER_DATASET_ZIP_DIRECTORY_ENTRY_H_
#define FOREBAY_SERVER_DATASET_ZIP_DIRECTORY_ENTRY_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace forebay::dataset::zip {

// An entry of a zip archive's directory, as it stands there.
struct DirectoryEntry {
  std::uint64_t bytes = 0;  // of the entry
  std::string_view name;    // lies in the bytes that were read
  std::uint8_t host = 0;    // system of the writer (APPNOTE 4.4.2)
  std::uint8_t version = 0;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint32_t crc32 = 0;
  std::uint64_t compressed = 0;     // bytes
  std::uint64_t length = 0;         // bytes
  std::uint32_t disk = 0;           // the file of a split archive
  std::uint64_t header_offset = 0;  // by the writer's count; bytes
};

// DirectoryEntry::host of MS-DOS, which .NET writes, too.
inline constexpr std::uint8_t kDosHost = 0;

// Bits of DirectoryEntry::flags.
inline constexpr std::uint16_t kEncrypted = 1 << 0;
inline constexpr std::uint16_t kPatch = 1 << 5;
inline constexpr std::uint16_t kStronglyEncrypted = 1 << 6;
inline constexpr std::uint16_t kMaskedHeader = 1 << 13;

// No entry has more bytes.
inline constexpr std::uint64_t kLongestEntry = 46 + 3 * UINT16_MAX;

// Reads the entry that `bytes` begin with. Returns nothing if they do not reach
// to its end. DATA_LOSS: there is no entry, or its extra fields are damaged;
// the error gives the reason alone. Thread-safe; never blocks.
absl::StatusOr<std::optional<DirectoryEntry>> ParseDirectoryEntry(
    absl::Span<const std::uint8_t> bytes);

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_DIRECTORY_ENTRY_H_

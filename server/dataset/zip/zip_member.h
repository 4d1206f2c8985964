#ifndef FOREBAY_SERVER_DATASET_ZIP_ZIP_MEMBER_H_
#define FOREBAY_SERVER_DATASET_ZIP_ZIP_MEMBER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

// The files in a zip archive: what its directory says of them, and how their
// bytes are found and decompressed. The functions are thread-safe and never
// block; their errors give the reason alone.

namespace forebay::dataset::zip {

// The compression methods that are read: 0 and 8 of APPNOTE 4.4.5.
enum class ZipMethod { kStored, kDeflated };

// A file in an archive, as the archive's directory describes it.
struct ZipMember {
  std::string name;  // without NUL; in UTF-8 or code page 437
  // The offset of the member's local file header in the archive. The data
  // follows the header.
  std::uint64_t header_offset = 0;  // bytes
  std::uint64_t compressed = 0;     // bytes in the archive
  std::uint64_t length = 0;         // bytes when decompressed
  std::uint32_t crc32 = 0;          // of the decompressed bytes
  ZipMethod method = ZipMethod::kStored;

  bool operator==(const ZipMember&) const = default;
};

// Whether a member that takes `compressed` bytes in the archive can have
// `length` bytes when it is decompressed.
bool CanHave(std::uint64_t length, std::uint64_t compressed, ZipMethod method);

// The bytes of a local file header (APPNOTE 4.3.7) without name and extra
// fields. The name follows, and then extra fields, at most kLongestExtra bytes.
// The directory does not say how long these extra fields are: its own entries
// have other extra fields.
inline constexpr std::uint64_t kHeaderBytes = 30;
inline constexpr std::uint64_t kLongestExtra = UINT16_MAX;

// Returns the offset of a member's data from the start of its header. `bytes`
// begin at the header, and reach at least to the end of the name. The data may
// lie beyond `bytes`, and, in a damaged archive, beyond the archive's end.
// DATA_LOSS: `bytes` are too few, do not begin with a header, or the header has
// another name.
absl::StatusOr<std::uint64_t> DataOffset(std::string_view name,
                                         absl::Span<const std::uint8_t> bytes);

// Decompresses a deflated member into `out`, whose size must be the member's
// decompressed size. On failure the content of `out` is undefined. DATA_LOSS:
// `compressed` is damaged, or its decompressed size is not that of `out`.
// RESOURCE_EXHAUSTED: there is not enough memory for zlib's state, some 50 KB.
absl::Status Inflate(absl::Span<const std::uint8_t> compressed,
                     absl::Span<std::uint8_t> out);

// Checks that a member's decompressed bytes have the CRC-32 `crc32`. DATA_LOSS:
// they have another CRC-32.
absl::Status CheckCrc(absl::Span<const std::uint8_t> bytes,
                      std::uint32_t crc32);

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_ZIP_MEMBER_H_

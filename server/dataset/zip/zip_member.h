#ifndef FOREBAY_SERVER_DATASET_ZIP_ZIP_MEMBER_H_
#define FOREBAY_SERVER_DATASET_ZIP_ZIP_MEMBER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

// The files in a zip archive: what its directory says of them, and how their
// bytes are had. Functions are thread-safe and never block; their errors give
// the reason alone.

namespace forebay::dataset::zip {

enum class ZipMethod { kStored, kDeflated };

// A file in an archive, as the archive's directory has it.
struct ZipMember {
  std::string name;  // without NUL; in UTF-8 or code page 437
  // Of its header in the archive; its data lies behind that.
  std::uint64_t header_offset = 0;  // bytes
  std::uint64_t compressed = 0;     // bytes that it takes in the archive
  std::uint64_t length = 0;         // bytes that it has
  std::uint32_t crc32 = 0;          // of these
  ZipMethod method = ZipMethod::kStored;

  bool operator==(const ZipMember&) const = default;
};

// Whether a member can have so many bytes that takes so many in the archive.
bool CanHave(std::uint64_t length, std::uint64_t compressed, ZipMethod method);

// Bytes of a member's header up to its name. Behind the name lie extra fields,
// at most kLongestExtra bytes. Only the header says how long they are.
inline constexpr std::uint64_t kHeaderBytes = 30;
inline constexpr std::uint64_t kLongestExtra = UINT16_MAX;

// Returns where a member's data lies, counted from its header on. `bytes` were
// read from there, and reach at least to the end of its name. The data may lie
// beyond them, and, in a damaged archive, beyond the archive. DATA_LOSS: they
// are too few, there is no header, or it has another name.
absl::StatusOr<std::uint64_t> DataOffset(std::string_view name,
                                         absl::Span<const std::uint8_t> bytes);

// Inflates a deflated member into `out`, which it fills exactly; it writes
// nowhere else. If it fails, `out` holds anything. DATA_LOSS: `compressed` is
// damaged, or is not what `out` has room for. RESOURCE_EXHAUSTED: there is no
// memory for zlib's state, some 50 KB.
absl::Status Inflate(absl::Span<const std::uint8_t> compressed,
                     absl::Span<std::uint8_t> out);

// Checks a member's bytes, as they were before they were compressed. DATA_LOSS:
// they have another CRC.
absl::Status CheckCrc(absl::Span<const std::uint8_t> bytes,
                      std::uint32_t crc32);

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_ZIP_MEMBER_H_

#ifndef FOREBAY_SERVER_DATASET_SHARDS_GZIP_MEMBER_H_
#define FOREBAY_SERVER_DATASET_SHARDS_GZIP_MEMBER_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"

// Members of shards that are gzip files (RFC 1952). Like webdataset, Forebay
// decompresses members whose names end in ".gz". The kind of such a member is
// found by the extension before ".gz". The functions are thread-safe and never
// block.

namespace forebay::dataset::shards {

// Whether a member with this extension is gzip-compressed.
bool IsGzipped(std::string_view extension);

// The bytes of ISIZE, a gzip file's last field: the decompressed size modulo
// 2^32 (RFC 1952, section 2.3.1).
inline constexpr std::uint64_t kGzipEndBytes = 4;
// Returns the decompressed size that a member states in `end`, its last
// kGzipEndBytes bytes. Returns 0 if `length` compressed bytes cannot decompress
// to that many bytes.
std::uint32_t DecompressedBytes(absl::Span<const std::uint8_t> end,
                                std::uint64_t length);

// Decompresses a member into `out`, whose size must be the member's
// decompressed size. If this fails, the content of `out` is undefined. Errors
// do not name the member. DATA_LOSS: the member is damaged, or its decompressed
// size differs from that of `out`. RESOURCE_EXHAUSTED: there is not enough
// memory for zlib's state, some 50 KB.
absl::Status Gunzip(absl::Span<const std::uint8_t> compressed,
                    absl::Span<std::uint8_t> out);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_GZIP_MEMBER_H_

#ifndef FOREBAY_SERVER_DATASET_SHARDS_GZIP_MEMBER_H_
#define FOREBAY_SERVER_DATASET_SHARDS_GZIP_MEMBER_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"

// Members of shards that gzip has compressed: webdataset inflates those whose
// names end in ".gz", and takes what stands before that for their extension.
// Functions are thread-safe and never block.

namespace forebay::dataset::shards {

// Whether a member with this extension is compressed.
bool IsGzipped(std::string_view extension);

// The last bytes of a compressed member, which say how many it inflates to.
inline constexpr std::uint64_t kGzipEndBytes = 4;
// Returns 0 if a member of `length` bytes cannot inflate to as many as they
// say.
std::uint32_t InflatedBytes(absl::Span<const std::uint8_t> end,
                            std::uint64_t length);

// Inflates a member into `out`, which it fills exactly; it writes nowhere else.
// If it fails, `out` holds anything. Errors give the reason alone: DATA_LOSS:
// it is damaged, or is not what `out` has room for; RESOURCE_EXHAUSTED: there
// is no memory for zlib's state, some 50 KB.
absl::Status Gunzip(absl::Span<const std::uint8_t> packed,
                    absl::Span<std::uint8_t> out);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_GZIP_MEMBER_H_

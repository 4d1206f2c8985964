#ifndef FOREBAY_SERVER_DATASET_ARRAY_RECORD_CODEC_H_
#define FOREBAY_SERVER_DATASET_ARRAY_RECORD_CODEC_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

// How bytes in a chunk are compressed. Functions are thread-safe and never
// block; their errors give the reason alone.

namespace forebay::dataset::array_record {

enum class Codec : std::uint8_t {
  kNone = 0,
  kBrotli = 'b',
  kSnappy = 's',
  kZstd = 'z',
};

// UNIMPLEMENTED: the byte of a chunk names no such codec.
absl::StatusOr<Codec> CodecOf(std::uint8_t byte);

// Decompresses into `out`, which it fills exactly; it writes nowhere else. If
// it fails, `out` holds anything. `codec` is not kNone. DATA_LOSS: `packed` is
// damaged, or is not what `out` has room for.
absl::Status Decompress(Codec codec, absl::Span<const std::uint8_t> packed,
                        absl::Span<std::uint8_t> out);

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_SERVER_DATASET_ARRAY_RECORD_CODEC_H_

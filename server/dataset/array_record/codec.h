#ifndef FOREBAY_SERVER_DATASET_ARRAY_RECORD_CODEC_H_
#define FOREBAY_SERVER_DATASET_ARRAY_RECORD_CODEC_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

// The codecs of a Riegeli chunk (compression_type). Functions are thread-safe
// and never block. Their errors do not name the file.

namespace forebay::dataset::array_record {

enum class Codec : std::uint8_t {
  kNone = 0,
  kBrotli = 'b',
  kSnappy = 's',
  kZstd = 'z',
};

// Returns the codec whose compression_type is `byte`. Fails with UNIMPLEMENTED
// if there is no such codec.
absl::StatusOr<Codec> CodecOf(std::uint8_t byte);

// Decompresses `compressed` into `out`. The result must fill `out` exactly.
// Writes nowhere else. If the call fails, the content of `out` is undefined.
// `codec` must not be kNone. Fails with DATA_LOSS if `compressed` is damaged or
// decompresses to another size.
absl::Status Decompress(Codec codec, absl::Span<const std::uint8_t> compressed,
                        absl::Span<std::uint8_t> out);

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_SERVER_DATASET_ARRAY_RECORD_CODEC_H_

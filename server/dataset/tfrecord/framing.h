#ifndef FOREBAY_SERVER_DATASET_TFRECORD_FRAMING_H_
#define FOREBAY_SERVER_DATASET_TFRECORD_FRAMING_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/storage/compressed/compression.h"

// The frame around each record of a TFRecord file. Numbers are little-endian
// (tensorflow/core/lib/io/record_writer.h):
//
// uint64  length of the record in bytes
// uint32  masked CRC of the length
// byte    the record, `length` times
// uint32  masked CRC of the record
//
// A masked CRC is a CRC32C, rotated right by 15 bits, plus 0xa282ead8
// (tsl/lib/hash/crc32c.h). Functions are thread-safe and never block. Their
// errors do not name the file.

namespace forebay::dataset::tfrecord {

// Bytes of a frame before the record, after the record, and both together.
inline constexpr std::uint64_t kHeaderBytes = 12;
inline constexpr std::uint64_t kFooterBytes = 4;
inline constexpr std::uint64_t kFrameBytes = kHeaderBytes + kFooterBytes;

// Returns a record's length in bytes, from the first kHeaderBytes bytes of its
// frame. DATA_LOSS: the CRC does not match.
absl::StatusOr<std::uint64_t> LengthOf(absl::Span<const std::uint8_t> header);

// Returns the record in a whole frame. DATA_LOSS: the record has another
// length, or a CRC does not match.
absl::StatusOr<absl::Span<const std::uint8_t>> PayloadOf(
    absl::Span<const std::uint8_t> frame);

// Returns the compression of a file that begins with `start`. Returns nothing
// if the file begins with a frame, or its compression is unknown.
std::optional<storage::compressed::Compression> CompressionOf(
    absl::Span<const std::uint8_t> start);

}  // namespace forebay::dataset::tfrecord

#endif  // FOREBAY_SERVER_DATASET_TFRECORD_FRAMING_H_

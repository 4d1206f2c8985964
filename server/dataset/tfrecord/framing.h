#ifndef FOREBAY_SERVER_DATASET_TFRECORD_FRAMING_H_
#define FOREBAY_SERVER_DATASET_TFRECORD_FRAMING_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/storage/inflated/packing.h"

// The frame around each record of a TFRecord file: its length (u64) and that
// number's checksum before it, its own checksum behind it, all little-endian. A
// checksum is a CRC32C, rotated right by 15 bits, plus 0xa282ead8
// (tensorflow/core/lib/io/record_writer.h, tsl/lib/hash/crc32c.h). Functions
// are thread-safe and never block; their errors give the reason alone.

namespace forebay::dataset::tfrecord {

inline constexpr std::uint64_t kHeaderBytes = 12;
inline constexpr std::uint64_t kFooterBytes = 4;
inline constexpr std::uint64_t kFrameBytes = kHeaderBytes + kFooterBytes;

// Returns the record's length, of its first kHeaderBytes bytes. DATA_LOSS: the
// checksum does not match.
absl::StatusOr<std::uint64_t> LengthOf(absl::Span<const std::uint8_t> header);

// Returns what a whole frame holds. DATA_LOSS: its length is another, or a
// checksum does not match.
absl::StatusOr<absl::Span<const std::uint8_t>> PayloadOf(
    absl::Span<const std::uint8_t> frame);

// Returns how a file is compressed that begins so; nothing if it begins with a
// frame, or as no compression does.
std::optional<storage::inflated::Packing> PackingOf(
    absl::Span<const std::uint8_t> start);

}  // namespace forebay::dataset::tfrecord

#endif  // FOREBAY_SERVER_DATASET_TFRECORD_FRAMING_H_

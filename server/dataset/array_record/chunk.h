#ifndef FOREBAY_SERVER_DATASET_ARRAY_RECORD_CHUNK_H_
#define FOREBAY_SERVER_DATASET_ARRAY_RECORD_CHUNK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/dataset/dataset.h"

namespace forebay::dataset::array_record {

// Bytes of a chunk's header. The chunk's data and perhaps padding follow it.
inline constexpr std::uint64_t kChunkHeaderBytes = 40;

// Iterates over the records of a chunk of a Riegeli file. The records lie in
// the bytes passed to Read, or in the buffer into which Read decompressed them.
// The chunk owns neither. Used by one thread. Never blocks. Only Read has
// errors. Copies iterate independently.
class Chunk {
 public:
  // Reads the chunk at the start of `bytes`, which lie in the file at `offset`.
  // The chunk may end before `bytes` do. Checks the hashes of its header and
  // its data. Calls `room` at most once: if the records are compressed, or if a
  // block header interrupts the chunk's data. The room has to hold all that
  // Read makes: the decompressed lengths and records, and the chunk's data
  // without block headers.
  //
  // Errors do not name the file. DATA_LOSS: the chunk is damaged, is truncated,
  // or has more than `most` bytes of records. UNIMPLEMENTED: its records are
  // transposed, or compressed by an unknown codec. The errors of `room` are
  // passed on.
  static absl::StatusOr<Chunk> Read(std::uint64_t offset,
                                    absl::Span<const std::uint8_t> bytes,
                                    std::uint64_t most, DecompressionRoom room);

  // Number of records not taken yet.
  std::uint64_t left() const { return left_; }
  // Returns the next record. Must not be called if left() is 0.
  absl::Span<const std::uint8_t> Next();
  // Takes and drops `records` records. `records` is at most left().
  void Skip(std::uint64_t records);

 private:
  Chunk(std::uint64_t left, absl::Span<const std::uint8_t> lengths,
        absl::Span<const std::uint8_t> records)
      : left_(left), lengths_(lengths), records_(records) {}

  // Checks that the lengths fit the records. Fails with DATA_LOSS if they do
  // not.
  absl::Status Check() const;

  std::uint64_t left_;
  // The lengths and the bytes of the records that were not taken yet. Each
  // length is a varint, and the records lie back to back.
  absl::Span<const std::uint8_t> lengths_;
  absl::Span<const std::uint8_t> records_;
};

// Returns the error of a file whose records are transposed (chunk type 't').
absl::Status IsTransposed();

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_SERVER_DATASET_ARRAY_RECORD_CHUNK_H_

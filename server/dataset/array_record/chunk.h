#ifndef FOREBAY_SERVER_DATASET_ARRAY_RECORD_CHUNK_H_
#define FOREBAY_SERVER_DATASET_ARRAY_RECORD_CHUNK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/dataset/dataset.h"

namespace forebay::dataset::array_record {

// A chunk's header. It is followed by its data, and perhaps by padding.
inline constexpr std::uint64_t kChunkHeaderBytes = 40;

// The records of a chunk of a Riegeli file, to be taken one after the other.
// They are what the file has, or were unpacked. Used by one thread; points to
// what Read was given; never blocks.
class Chunk {
 public:
  // Reads the chunk that begins a part of a file: `bytes`, which lie at
  // `offset`, where a chunk can begin. It may end before they do. Checks the
  // hashes of header and data. If the records are compressed, or a block's
  // header interrupts them, asks for room once, to unpack them into: for their
  // lengths, the records, and what is compressed.
  //
  // Errors give the reason alone: DATA_LOSS: it is damaged, ends before its
  // time, or has more than `most` bytes of records; UNIMPLEMENTED: its records
  // are transposed, or are compressed in an unknown way; those of `room`.
  static absl::StatusOr<Chunk> Read(std::uint64_t offset,
                                    absl::Span<const std::uint8_t> bytes,
                                    std::uint64_t most, UnpackRoom room);

  // Records that are left.
  std::uint64_t left() const { return left_; }
  // Takes the next one; there is one.
  absl::Span<const std::uint8_t> Next();
  // Takes so many, which there are.
  void Skip(std::uint64_t records);

 private:
  Chunk(std::uint64_t left, absl::Span<const std::uint8_t> lengths,
        absl::Span<const std::uint8_t> records)
      : left_(left), lengths_(lengths), records_(records) {}

  // Checks that they fit together. DATA_LOSS: they do not.
  absl::Status Check() const;

  std::uint64_t left_;
  absl::Span<const std::uint8_t> lengths_;  // a varint each
  absl::Span<const std::uint8_t> records_;  // one behind the other
};

// The error of records that are transposed.
absl::Status IsTransposed();

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_SERVER_DATASET_ARRAY_RECORD_CHUNK_H_

#ifndef FOREBAY_SERVER_DATASET_ARRAY_RECORD_FOOTER_H_
#define FOREBAY_SERVER_DATASET_ARRAY_RECORD_FOOTER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/array_record/chunk.h"

// The end of an ArrayRecord file, after its records. It consists of two chunks
// (github.com/google/array_record, cpp/layout.proto): the footer, which lists
// all other chunks, and the postscript. The postscript lies in the last 64 KiB,
// and tells where the footer begins.
//
// The file is untrusted. Errors do not name the file.

namespace forebay::dataset::array_record {

// Returns the offset of the footer in a file of `size` bytes. `block` is the
// file's last block, which has the postscript. The footer begins before that
// block. Fails with DATA_LOSS if `block` is not the end of an ArrayRecord file.
// Thread-safe; never blocks.
absl::StatusOr<std::uint64_t> FooterOffset(
    std::uint64_t size, absl::Span<const std::uint8_t> block);

// A chunk of records, as the footer lists it. Offsets are in bytes from the
// start of the file.
struct ListedChunk {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;            // the end of its padding
  std::uint64_t records = 0;        // number of its records
  std::uint64_t decoded_bytes = 0;  // bytes of all its records, decompressed

  bool operator==(const ListedChunk&) const = default;
};

// Iterates over the chunks that the footer of a file lists. Used by one thread;
// owns the footer's bytes, which `memory` counts; never blocks. Errors do not
// name the file.
class Footer {
 public:
  // Reads the footer from the start of `bytes`, which lie in the file at
  // `offset`. `memory` outlives the footer. DATA_LOSS: the chunk is not a
  // footer, or is damaged. UNIMPLEMENTED: the file has another version, or its
  // records are transposed. RESOURCE_EXHAUSTED: `memory` cannot grow.
  static absl::StatusOr<Footer> Read(std::uint64_t offset,
                                     absl::Span<const std::uint8_t> bytes,
                                     base::WorkingMemory* memory);
  Footer(Footer&& other) noexcept;
  Footer& operator=(Footer&&) = delete;
  ~Footer();

  // Takes the next chunk; returns nothing after the last one. Each chunk has at
  // least one record. Chunks come in the order of the file, do not overlap, and
  // lie before the footer. Fails with DATA_LOSS if the list is damaged.
  absl::StatusOr<std::optional<ListedChunk>> Next();

 private:
  Footer(std::uint64_t offset, base::WorkingMemory* memory)
      : offset_(offset), memory_(memory) {}

  absl::StatusOr<absl::Span<std::uint8_t>> Add(std::uint64_t bytes);
  absl::Status ReadMetadata(absl::Span<const std::uint8_t> metadata);
  absl::StatusOr<std::optional<ListedChunk>> NextBegin();

  const std::uint64_t offset_;  // the footer's offset in the file
  base::WorkingMemory* const memory_;
  std::uint64_t counted_ = 0;  // bytes that memory_ counts for this footer
  // The footer's chunk as the file has it. If the chunk's records are
  // compressed, decompressed_ has the decompressed records.
  std::unique_ptr<std::uint8_t[]> compressed_;
  std::unique_ptr<std::uint8_t[]> decompressed_;
  std::optional<Chunk> list_;        // the entries that Next has not taken
  std::uint64_t records_left_ = 0;   // number of records in the chunks not
                                     // taken yet
  std::uint64_t last_begin_ = 0;     // offset of the last chunk taken
  std::optional<ListedChunk> next_;  // the next chunk, without its end
};

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_SERVER_DATASET_ARRAY_RECORD_FOOTER_H_

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

// The end of an ArrayRecord file, behind its records: a chunk that lists the
// others, the footer, and in the last 64 KiB one that says where the footer
// lies, the postscript (github.com/google/array_record, cpp/layout.proto). All
// is a stranger's. Errors give the reason alone.

namespace forebay::dataset::array_record {

// Returns where the footer begins: before the last block. `block` is the last
// one of a file of `size` bytes. DATA_LOSS: it is none of an ArrayRecord file.
// Thread-safe; never blocks.
absl::StatusOr<std::uint64_t> FooterOffset(
    std::uint64_t size, absl::Span<const std::uint8_t> block);

// A chunk of records in a file.
struct ListedChunk {
  std::uint64_t begin = 0;  // bytes
  std::uint64_t end = 0;    // of it and its padding; bytes
  std::uint64_t records = 0;
  std::uint64_t decoded_bytes = 0;  // of all records

  bool operator==(const ListedChunk&) const = default;
};

// The footer of a file: its chunks, to be taken one after the other. Used by
// one thread; owns its bytes, which it counts; never blocks.
class Footer {
 public:
  // Of the chunk that begins `bytes`, which lie in the file at `offset`. The
  // memory outlives it. DATA_LOSS: it is no footer, or damaged; UNIMPLEMENTED:
  // it is of another version, or the records are transposed;
  // RESOURCE_EXHAUSTED: that of the memory.
  static absl::StatusOr<Footer> Read(std::uint64_t offset,
                                     absl::Span<const std::uint8_t> bytes,
                                     base::WorkingMemory* memory);
  Footer(Footer&& other) noexcept;
  Footer& operator=(Footer&&) = delete;
  ~Footer();

  // Takes the next chunk; nothing after the last one. Chunks have a record at
  // least, and lie one behind the other before the footer. DATA_LOSS: the list
  // is damaged.
  absl::StatusOr<std::optional<ListedChunk>> Next();

 private:
  Footer(std::uint64_t offset, base::WorkingMemory* memory)
      : offset_(offset), memory_(memory) {}

  absl::StatusOr<absl::Span<std::uint8_t>> Add(std::uint64_t bytes);
  absl::Status ReadMetadata(absl::Span<const std::uint8_t> metadata);
  absl::StatusOr<std::optional<ListedChunk>> NextBegin();

  const std::uint64_t offset_;
  base::WorkingMemory* const memory_;
  std::uint64_t counted_ = 0;  // bytes
  std::unique_ptr<std::uint8_t[]> packed_;
  std::unique_ptr<std::uint8_t[]> unpacked_;
  std::optional<Chunk> list_;
  std::uint64_t records_left_ = 0;
  std::uint64_t last_begin_ = 0;
  std::optional<ListedChunk> next_;  // without its end
};

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_SERVER_DATASET_ARRAY_RECORD_FOOTER_H_

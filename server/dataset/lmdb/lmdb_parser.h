#ifndef FOREBAY_SERVER_DATASET_LMDB_LMDB_PARSER_H_
#define FOREBAY_SERVER_DATASET_LMDB_LMDB_PARSER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/lmdb/lmdb_walk.h"
#include "server/dataset/object_parser.h"
#include "server/dataset/records/packed_keys.h"
#include "server/dataset/records/record_format.h"
#include "server/dataset/records/record_index.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::lmdb {

// A record is a value and so many bytes before it, for a value may be empty.
inline constexpr std::uint64_t kBytesBeforeValue = 1;

// The mark of a version by its last transaction, which may be number 0.
constexpr std::uint64_t MarkOf(std::uint64_t transaction) {
  return transaction + 1;
}

// Finds the entries of an LMDB file, in the order of their keys. At the end it
// reads the meta pages anew: if a writer has ended a transaction meanwhile,
// what it found, and what it found damaged, may be of several.
//
// Threads, ownership and blocking are as ObjectParser says. Errors name the
// file: those of LmdbWalk; FAILED_PRECONDITION: it was written to.
class LmdbParser final : public records::RecordParser {
 public:
  // `memory` outlives the parser.
  static absl::StatusOr<std::unique_ptr<LmdbParser>> Create(
      const storage::ListedObject& file, const ReadSizes& read_sizes,
      const std::string& database, base::WorkingMemory* memory);

  std::optional<ByteRange> next_read() const override;
  absl::Status Take(absl::Span<const std::uint8_t> bytes) override;
  records::FileRecords TakeRecords() override;

 private:
  LmdbParser(std::string object, LmdbWalk walk, const ReadSizes& read_sizes,
             base::WorkingMemory* memory)
      : object_(std::move(object)),
        walk_(std::move(walk)),
        read_length_(read_sizes),
        memory_(memory) {}

  absl::Status TakePages(const ByteRange& read,
                         absl::Span<const std::uint8_t> bytes);
  absl::Status Add(const LmdbEntry& entry);
  absl::Status EndWalk(absl::Status status);

  const std::string object_;
  LmdbWalk walk_;
  ReadLength read_length_;
  base::WorkingMemory* const memory_;
  absl::Status walked_;  // how the walk ended
  bool over_ = false;
  std::vector<LmdbEntry> entries_;  // of a page
  records::FileRecords found_;
  records::KeyPacker keys_;
};

// Checks that `transaction` is still the last one of a file, by what
// LmdbWalk::metas() holds now. Errors name the file: FAILED_PRECONDITION: it is
// not; DATA_LOSS, UNIMPLEMENTED: those of the meta pages.
absl::Status CheckTransaction(const std::string& object,
                              absl::Span<const std::uint8_t> metas,
                              std::uint64_t page_bytes,
                              std::uint64_t transaction);

}  // namespace forebay::dataset::lmdb

#endif  // FOREBAY_SERVER_DATASET_LMDB_LMDB_PARSER_H_

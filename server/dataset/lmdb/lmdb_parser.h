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
#include "server/dataset/records/compressed_keys.h"
#include "server/dataset/records/record_format.h"
#include "server/dataset/records/record_index.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::lmdb {

// Number of bytes before a value that the value's record includes. A value may
// be empty, but a record is read as an extent and needs at least one byte. A
// node's header lies before each value, so this byte always exists.
inline constexpr std::uint64_t kBytesBeforeValue = 1;

// Returns the id by which storage::Revision names a transaction. LMDB counts
// transactions from 0, but 0 means unknown in a Revision. The id is therefore
// the transaction's number plus one.
constexpr std::uint64_t TransactionIdOf(std::uint64_t transaction) {
  return transaction + 1;
}

// Finds the entries of an LMDB file, in key order. Reads both meta pages again
// at the end. If they show that a writer has ended a transaction meanwhile, the
// scan fails: the entries, and any damage found, may come from a mixture of
// transactions.
//
// Threads, ownership and blocking are as ObjectParser says. Errors name the
// file. They are those of LmdbWalk, and FAILED_PRECONDITION if a writer ended a
// transaction during the scan.
class LmdbParser final : public records::RecordParser {
 public:
  // Makes the parser of a file. `database` is the name of the database to read;
  // an empty name means the unnamed one. `memory` counts the records found, and
  // outlives the parser.
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

  // Gives the walk the pages within `read`, one after the other.
  absl::Status TakePages(const ByteRange& read,
                         absl::Span<const std::uint8_t> bytes);
  absl::Status Add(const LmdbEntry& entry);
  // Records `status`, with which the walk failed. Returns `status` at once only
  // if the walk does not know where both meta pages lie.
  absl::Status EndWalk(absl::Status status);

  const std::string object_;
  LmdbWalk walk_;
  ReadLength read_length_;
  base::WorkingMemory* const memory_;
  absl::Status walked_;             // result of the walk, once it has ended
  bool over_ = false;               // whether the meta pages were read again
  std::vector<LmdbEntry> entries_;  // entries of one page
  records::FileRecords records_;
  records::KeyCompressor keys_;
};

// Checks that `transaction` is still the last one of the file `object`. `metas`
// are the bytes in the range LmdbWalk::metas(), read again. Each page has
// `page_bytes` bytes. Errors name the file. FAILED_PRECONDITION: there was a
// later transaction. DATA_LOSS and UNIMPLEMENTED: those of ParseLmdbMeta.
absl::Status CheckTransaction(const std::string& object,
                              absl::Span<const std::uint8_t> metas,
                              std::uint64_t page_bytes,
                              std::uint64_t transaction);

}  // namespace forebay::dataset::lmdb

#endif  // FOREBAY_SERVER_DATASET_LMDB_LMDB_PARSER_H_

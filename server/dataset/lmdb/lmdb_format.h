#ifndef FOREBAY_SERVER_DATASET_LMDB_LMDB_FORMAT_H_
#define FOREBAY_SERVER_DATASET_LMDB_LMDB_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/dataset.h"
#include "server/dataset/lmdb/entry_fields.h"
#include "server/dataset/object_parser.h"
#include "server/dataset/records/record_format.h"
#include "server/dataset/records/record_index.h"
#include "server/storage/byte_source.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::lmdb {

// The format of LMDB files. A sample is an entry of one database, which has a
// name or is the unnamed one. EntryFields tells which fields the sample has.
//
// The transaction id of a file is that of its last transaction. The next
// transaction may free pages that the index refers to, but only the transaction
// after that may overwrite these pages. Therefore, if the file has the index's
// transaction id after bytes were read, these bytes are still those that were
// indexed.
//
// Threads, ownership, blocking and errors are as RecordFormat says.
class LmdbFormat final : public records::RecordFormat {
 public:
  // Reads the entries of `database`, or of the unnamed database if the name is
  // empty. The name contains no 0 byte, because a 0 byte ends the name in
  // text().
  LmdbFormat(std::string database, EntryFields fields);
  // Makes the format whose text() is `text`. Fails with DATA_LOSS if `text` is
  // that of another format.
  static absl::StatusOr<std::shared_ptr<const LmdbFormat>> Parse(
      std::string_view text);

  const std::string& text() const override { return text_; }
  absl::StatusOr<std::unique_ptr<records::RecordParser>> Parse(
      const storage::ListedObject& file, const ReadSizes& read_sizes,
      base::WorkingMemory* memory) const override;
  bool has_transaction_ids() const override { return true; }
  std::optional<std::uint64_t> FindTransactionId(
      const storage::ObjectLayout::ReadPart& read) const override;
  std::vector<Field> FieldsOf(const records::RecordIndex& index) const override;
  absl::Status ReadValues(absl::Span<const std::uint8_t> record,
                          absl::Span<FieldValue> values,
                          ValueBuffers* buffers) const override;
  std::optional<std::size_t> key_field() const override {
    return fields_.key_field();
  }
  std::optional<std::size_t> file_field() const override {
    return fields_.file_field();
  }
  std::string NameOf(const records::RecordIndex& index,
                     std::uint64_t record) const override;

 private:
  const std::string database_;
  const EntryFields fields_;
  const std::string text_;
};

}  // namespace forebay::dataset::lmdb

#endif  // FOREBAY_SERVER_DATASET_LMDB_LMDB_FORMAT_H_

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

// LMDB files, whose entries have these fields, in the database of that name or,
// if it is empty, in the unnamed one. The mark of a file is its last
// transaction: only the second one after that may use pages anew which an index
// knows.
//
// Threads, ownership, blocking and errors are as RecordFormat says.
class LmdbFormat final : public records::RecordFormat {
 public:
  // No 0 byte is in the name.
  LmdbFormat(std::string database, EntryFields fields);
  // DATA_LOSS: the text is that of another format.
  static absl::StatusOr<std::shared_ptr<const LmdbFormat>> Parse(
      std::string_view text);

  const std::string& text() const override { return text_; }
  absl::StatusOr<std::unique_ptr<records::RecordParser>> Parse(
      const storage::ListedObject& file, const ReadSizes& read_sizes,
      base::WorkingMemory* memory) const override;
  bool has_marks() const override { return true; }
  std::optional<std::uint64_t> FindMark(
      const storage::ObjectLayout::ReadPart& read) const override;
  std::vector<Field> FieldsOf(const records::RecordIndex& index) const override;
  absl::Status ReadValues(absl::Span<const std::uint8_t> record,
                          absl::Span<FieldValue> values,
                          MadeValues* made) const override;
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

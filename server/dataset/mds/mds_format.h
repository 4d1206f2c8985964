#ifndef FOREBAY_SERVER_DATASET_MDS_MDS_FORMAT_H_
#define FOREBAY_SERVER_DATASET_MDS_MDS_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/dataset.h"
#include "server/dataset/mds/mds_columns.h"
#include "server/dataset/object_parser.h"
#include "server/dataset/records/record_format.h"
#include "server/dataset/records/record_index.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::mds {

// A column that is a field of the dataset.
struct ChosenColumn {
  std::size_t column = 0;  // number of the column in the shard
  // Kind of the field; MayBe is true for the column and this kind.
  proto::FieldKind kind = proto::FieldKind::kBytes;
  // For arrays only: the type of an array, or of one of its rows if `has_rows`.
  ArrayType array;
  // Whether the first axis of arrays may have any length. Each index of that
  // axis is a row.
  bool has_rows = false;
};

// The format of MDS shards that have the given columns, some of which are
// fields.
//
// Threads, ownership, blocking and errors are as RecordFormat says.
class MdsFormat final : public records::RecordFormat {
 public:
  // Makes the format of shards with `columns`, of which `chosen` are fields, in
  // that order.
  MdsFormat(std::vector<MdsColumn> columns, std::vector<ChosenColumn> chosen);
  // Makes the format whose text() is `text`. DATA_LOSS: `text` is that of
  // another kind of format.
  static absl::StatusOr<std::shared_ptr<const MdsFormat>> Parse(
      std::string_view text);

  const std::string& text() const override { return text_; }
  absl::StatusOr<std::unique_ptr<records::RecordParser>> Parse(
      const storage::ListedObject& file, const ReadSizes& read_sizes,
      base::WorkingMemory* memory) const override;
  std::vector<Field> FieldsOf(const records::RecordIndex& index) const override;
  absl::Status ReadValues(absl::Span<const std::uint8_t> record,
                          absl::Span<FieldValue> values,
                          ValueBuffers* buffers) const override;

 private:
  // Reads the value of a chosen column, whose range in `record` is `part`.
  absl::StatusOr<FieldValue> ReadValue(const ChosenColumn& chosen,
                                       absl::Span<const std::uint8_t> record,
                                       const FieldRange& part,
                                       ValueBuffers* buffers) const;

  const std::vector<MdsColumn> columns_;
  const std::vector<ChosenColumn> chosen_;
  const std::string text_;
};

}  // namespace forebay::dataset::mds

#endif  // FOREBAY_SERVER_DATASET_MDS_MDS_FORMAT_H_

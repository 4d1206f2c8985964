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

// A column that is a field.
struct ChosenColumn {
  std::size_t column = 0;  // its number
  // One that the column may be.
  proto::FieldKind kind = proto::FieldKind::kBytes;
  // Of arrays: each value's, or that of what it has at each index of its first
  // axis.
  ArrayType array;
  bool has_rows = false;
};

// MDS shards with these columns, of which some are fields.
//
// Threads, ownership, blocking and errors are as RecordFormat says.
class MdsFormat final : public records::RecordFormat {
 public:
  MdsFormat(std::vector<Column> columns, std::vector<ChosenColumn> chosen);
  // Makes a format of its text. DATA_LOSS: it is of no such format.
  static absl::StatusOr<std::shared_ptr<const MdsFormat>> Parse(
      std::string_view text);

  const std::string& text() const override { return text_; }
  absl::StatusOr<std::unique_ptr<records::RecordParser>> Parse(
      const storage::ListedObject& file, const ReadSizes& read_sizes,
      base::WorkingMemory* memory) const override;
  std::vector<Field> FieldsOf(const records::RecordIndex& index) const override;
  absl::Status ReadValues(absl::Span<const std::uint8_t> record,
                          absl::Span<FieldValue> values,
                          MadeValues* made) const override;

 private:
  absl::StatusOr<FieldValue> ReadValue(const ChosenColumn& chosen,
                                       absl::Span<const std::uint8_t> record,
                                       const FieldRange& part,
                                       MadeValues* made) const;

  const std::vector<Column> columns_;
  const std::vector<ChosenColumn> chosen_;
  const std::string text_;
};

}  // namespace forebay::dataset::mds

#endif  // FOREBAY_SERVER_DATASET_MDS_MDS_FORMAT_H_

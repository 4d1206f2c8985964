#ifndef FOREBAY_SERVER_DATASET_MDS_COLUMN_CHOICE_H_
#define FOREBAY_SERVER_DATASET_MDS_COLUMN_CHOICE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/dataset/records/record_catalog.h"
#include "server/dataset/records/value_type.h"

namespace forebay::dataset::mds {

// The columns of MDS shards that a user wants, by name. If there are no names,
// all columns that can be fields are wanted. A column of bytes for which the
// user gives no type becomes a field of audio files if its first value is an
// audio file. Immutable and thread-safe; owns what it stores. Its own calls
// never block, but opening a completed request reads shards.
class ColumnChoice {
 public:
  using Types = std::vector<std::optional<records::ValueType>>;

  // Makes a choice. `types` is empty, or has an item for each name: a text for
  // records::ParseValueType, or an empty text if the column decides the type.
  // INVALID_ARGUMENT: there are more names than fields can be; a type does not
  // exist; or a name comes twice.
  static absl::StatusOr<ColumnChoice> Create(
      std::vector<std::string> names, const std::vector<std::string>& types);

  // Completes a request for MDS shards that already has its source, root and
  // name. Opening the request adds a sentence to `warnings` for each column
  // that is left out. Therefore `request` and `warnings` must outlive the
  // opening. The opening has the errors of MdsShardParser. INVALID_ARGUMENT:
  // also if a column is missing, or has values of another type. UNIMPLEMENTED:
  // also if a column's encoding cannot be read.
  void Complete(records::RecordRequest* request,
                std::vector<std::string>* warnings) const;

 private:
  ColumnChoice(std::vector<std::string> names, Types types)
      : names_(std::move(names)), types_(std::move(types)) {}

  std::vector<std::string> names_;  // empty if all columns are wanted
  // The type that the user gave each name, if any.
  Types types_;
};

}  // namespace forebay::dataset::mds

#endif  // FOREBAY_SERVER_DATASET_MDS_COLUMN_CHOICE_H_

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

// The columns that are wanted of MDS shards, by name; none means all that can
// be fields. Bytes that a type tells nothing of are audio files if those of the
// first sample are. Immutable and thread-safe.
class ColumnChoice {
 public:
  using Types = std::vector<std::optional<records::ValueType>>;

  // `types` are none, or one for each name, as records::ParseValueType takes
  // them; empty ones tell nothing. INVALID_ARGUMENT: there is no such type, or
  // a name comes twice.
  static absl::StatusOr<ColumnChoice> Create(
      std::vector<std::string> names, const std::vector<std::string>& types);

  // Completes a request for MDS shards with its source, root and name. Adds to
  // `warnings`, a sentence each, which columns are left out. The request uses
  // both as long as it lives. It fails, besides as MdsShardParser says, with
  // INVALID_ARGUMENT: a column lacks, or has values of another type;
  // UNIMPLEMENTED: its encoding cannot be read.
  void Complete(records::RecordRequest* request,
                std::vector<std::string>* warnings) const;

 private:
  ColumnChoice(std::vector<std::string> names, Types types)
      : names_(std::move(names)), types_(std::move(types)) {}

  std::vector<std::string> names_;
  Types types_;  // of each name
};

}  // namespace forebay::dataset::mds

#endif  // FOREBAY_SERVER_DATASET_MDS_COLUMN_CHOICE_H_

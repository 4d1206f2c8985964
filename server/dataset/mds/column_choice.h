#ifndef FOREBAY_SERVER_DATASET_MDS_COLUMN_CHOICE_H_
#define FOREBAY_SERVER_DATASET_MDS_COLUMN_CHOICE_H_

#include <string>
#include <utility>
#include <vector>

#include "server/dataset/records/record_catalog.h"

namespace forebay::dataset::mds {

// The columns that are wanted of MDS shards, by name; none means all that can
// be fields. Immutable and thread-safe.
class ColumnChoice {
 public:
  explicit ColumnChoice(std::vector<std::string> names)
      : names_(std::move(names)) {}

  // Completes a request for MDS shards with its source, root and name. Adds to
  // `warnings`, a sentence each, which columns are left out. The request uses
  // both as long as it lives. It fails, besides as MdsShardParser says, with
  // INVALID_ARGUMENT: a column lacks; UNIMPLEMENTED: its encoding cannot be
  // read.
  void Complete(records::RecordRequest* request,
                std::vector<std::string>* warnings) const;

 private:
  const std::vector<std::string> names_;
};

}  // namespace forebay::dataset::mds

#endif  // FOREBAY_SERVER_DATASET_MDS_COLUMN_CHOICE_H_

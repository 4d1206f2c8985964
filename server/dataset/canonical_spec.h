#ifndef FOREBAY_SERVER_DATASET_CANONICAL_SPEC_H_
#define FOREBAY_SERVER_DATASET_CANONICAL_SPEC_H_

#include "absl/status/statusor.h"
#include "proto/dataset.pb.h"

namespace forebay::dataset {

// Returns the spec with a `kind` in place of the settings of protocol 3. Does
// the same to the specs of its parts. A spec that has only kinds stays as it
// is. If a client of protocol 3 and a later client describe the same dataset,
// their canonical specs are equal. Takes time and memory in proportion to the
// spec. Thread-safe; never blocks.
//
// INVALID_ARGUMENT: a dataset has both a kind and settings of protocol 3, has a
// setting with a value that its format does not allow, or has an unknown
// format. Settings of other formats are ignored. Errors name the dataset's URI.
absl::StatusOr<proto::DatasetSpec> CanonicalSpec(proto::DatasetSpec spec);

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_CANONICAL_SPEC_H_

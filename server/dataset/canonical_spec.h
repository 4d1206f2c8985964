#ifndef FOREBAY_SERVER_DATASET_CANONICAL_SPEC_H_
#define FOREBAY_SERVER_DATASET_CANONICAL_SPEC_H_

#include "absl/status/statusor.h"
#include "proto/dataset.pb.h"

namespace forebay::dataset {

// Returns the spec with a `kind` in place of the settings of protocol 3, also
// in its parts. A spec that has kinds alone stays as it is. Equal datasets of
// clients of protocol 3 and of later ones have equal canonical specs. Takes
// time and memory in proportion to the spec. Thread-safe; never blocks.
//
// INVALID_ARGUMENT: a dataset has both a kind and settings of protocol 3, or a
// setting whose value its format cannot have, or a format that is not known.
// Settings of other formats are ignored. Errors name the dataset's URI.
absl::StatusOr<proto::DatasetSpec> CanonicalSpec(proto::DatasetSpec spec);

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_CANONICAL_SPEC_H_

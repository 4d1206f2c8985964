#ifndef FOREBAY_SERVER_DATASET_SPEC_CONTENTS_H_
#define FOREBAY_SERVER_DATASET_SPEC_CONTENTS_H_

#include <string>
#include <vector>

#include "proto/dataset.pb.h"

// Functions that read specs of several kinds. All specs are canonical
// (canonical_spec.h). All functions are thread-safe and never block.

namespace forebay::dataset {

// Returns the patterns of the dataset's files; none if its kind has no files.
const google::protobuf::RepeatedPtrField<std::string>& FilesOf(
    const proto::DatasetSpec& spec);

// Returns the fields of a dataset whose files consist of records; none if its
// kind has no typed fields.
const google::protobuf::RepeatedPtrField<proto::TypedField>& TypedFieldsOf(
    const proto::DatasetSpec& spec);

// Returns the datasets that a dataset is composed of; none if the dataset is
// not composed.
std::vector<const proto::DatasetSpec*> PartsOf(const proto::DatasetSpec& spec);

// Whether the dataset's files lie below a root of its own.
bool HasRoot(const proto::DatasetSpec& spec);

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_SPEC_CONTENTS_H_

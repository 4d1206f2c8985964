#ifndef FOREBAY_CLIENT_WIRE_DATASET_SPEC_H_
#define FOREBAY_CLIENT_WIRE_DATASET_SPEC_H_

#include <vector>

#include "client/base/status.h"
#include "client/forebay.h"
#include "client/wire/array_records.h"
#include "client/wire/dataset_location.h"
#include "proto/dataset.message.h"

namespace forebay::client::wire {

// Makes the spec of the dataset that the options describe. LocateDataset has
// found `location` and checked it. The options' strings are not null.
// INVALID_ARGUMENT: the format does not allow the fields or columns.
// Thread-safe; never blocks.
Status SpecOfLocation(const forebay_loader_options& options,
                      const DatasetLocation& location,
                      message::DatasetSpec* spec);

// Returns the fields of `records` as a spec describes them. Thread-safe; never
// blocks or fails.
std::vector<message::ArrayField> FieldsOf(const Records& records);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_DATASET_SPEC_H_

#ifndef FOREBAY_CLIENT_WIRE_DATASET_SPEC_H_
#define FOREBAY_CLIENT_WIRE_DATASET_SPEC_H_

#include <vector>

#include "client/base/status.h"
#include "client/forebay.h"
#include "client/wire/array_records.h"
#include "client/wire/dataset_location.h"
#include "proto/dataset.message.h"

namespace forebay::client::wire {

// Makes the spec of the dataset that the options describe. `location` is where
// it lies, as LocateDataset has found and checked; the options' strings are not
// null. INVALID_ARGUMENT: the fields or columns are not those of the format.
// Thread-safe; never blocks.
Status SpecOfLocation(const forebay_loader_options& options,
                      const DatasetLocation& location,
                      message::DatasetSpec* spec);

// Returns the fields of `records` as a spec describes them. Thread-safe; never
// blocks or fails.
std::vector<message::ArrayField> FieldsOf(const Records& records);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_DATASET_SPEC_H_

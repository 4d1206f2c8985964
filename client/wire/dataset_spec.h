#ifndef FOREBAY_CLIENT_WIRE_DATASET_SPEC_H_
#define FOREBAY_CLIENT_WIRE_DATASET_SPEC_H_

#include <string_view>

#include "client/forebay.h"
#include "client/wire/array_records.h"
#include "client/wire/dataset_location.h"
#include "proto/dataset.message.h"

namespace forebay::client::wire {

// Returns the dataset that the options describe. `location` is where it lies,
// as LocateDataset has found and checked; the options' strings are not null.
// Thread-safe; never blocks or fails.
message::DatasetSpec SpecOfLocation(const forebay_loader_options& options,
                                    const DatasetLocation& location);

// Returns a dataset of format `format`, ARRAYS or PRODUCED, whose samples have
// the fields of `records`. Thread-safe; never blocks or fails.
message::DatasetSpec SpecOfRecords(std::string_view uri,
                                   message::DatasetSpec::Format format,
                                   const Records& records);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_DATASET_SPEC_H_

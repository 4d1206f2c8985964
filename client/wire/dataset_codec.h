#ifndef FOREBAY_CLIENT_WIRE_DATASET_CODEC_H_
#define FOREBAY_CLIENT_WIRE_DATASET_CODEC_H_

// Writes datasets as proto/dataset.proto defines them, by protozero instead of
// protobuf, which the library does not link. Each Encode function returns a
// serialized proto.DatasetSpec. Thread-safe; nothing blocks or fails.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/forebay.h"
#include "client/wire/array_records.h"
#include "client/wire/dataset_location.h"

namespace forebay::client::wire {

// Encodes the dataset that the options describe. `location` is where it lies,
// as LocateDataset has found and checked; the options' strings are not null.
std::string EncodeLocation(const forebay_loader_options& options,
                           const DatasetLocation& location);

// Encodes a dataset of arrays in memory, whose records are in a memfd.
std::string EncodeArrays(std::string_view uri, const Records& records);

// Encodes a dataset that workers make. `records` says the fields and the number
// of samples; its arrays have no data.
std::string EncodeProduced(std::string_view uri, std::string_view identity,
                           const Records& records);

// Adds the number of lanes to the spec of a dataset that workers make.
void AppendLanes(std::uint32_t lanes, std::string* spec);
// Makes the dataset of a spec live.
void AppendLive(std::string* spec);
// Keeps the first `count` fields of a spec's dataset on the host.
void AppendHostFields(std::uint32_t count, std::string* spec);

// Another dataset's spec, and the number of its descriptors.
struct EncodedPart {
  std::string_view spec;
  size_t descriptors = 0;
};

// Encodes a subset by sample numbers or, if `keys` is not 0, by `keys` keys.
// The numbers or keys are in a memfd behind the descriptors of `whole`.
std::string EncodeSubset(std::string_view uri, const EncodedPart& whole,
                         std::uint64_t keys = 0);
// Encodes the samples of all parts, one part after the other.
std::string EncodeConcatenation(std::string_view uri,
                                const std::vector<EncodedPart>& parts);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_DATASET_CODEC_H_

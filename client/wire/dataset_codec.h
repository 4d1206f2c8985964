#ifndef FOREBAY_CLIENT_WIRE_DATASET_CODEC_H_
#define FOREBAY_CLIENT_WIRE_DATASET_CODEC_H_

// Writes datasets as proto/dataset.proto defines them, without protobuf. Each
// function returns a serialized proto.DatasetSpec.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/forebay.h"
#include "client/wire/array_records.h"
#include "client/wire/dataset_location.h"

namespace forebay::client::wire {

// `location` is that of the options, whose strings are not null.
std::string EncodeLocation(const forebay_loader_options& options,
                           const DatasetLocation& location);

std::string EncodeArrays(std::string_view uri, const Records& records);

// The records say the fields and the number of samples.
std::string EncodeProduced(std::string_view uri, std::string_view identity,
                           const Records& records);

// Adds the number of lanes to the spec of such a dataset.
void AppendLanes(std::uint32_t lanes, std::string* spec);
// Makes it live.
void AppendLive(std::string* spec);
// Keeps its first so many fields on the host.
void AppendHostFields(std::uint32_t count, std::string* spec);

// Another dataset's spec, and the number of its descriptors.
struct EncodedPart {
  std::string_view spec;
  size_t descriptors = 0;
};

// By numbers, or by so many keys, if they are not 0.
std::string EncodeSubset(std::string_view uri, const EncodedPart& whole,
                         std::uint64_t keys = 0);
std::string EncodeConcatenation(std::string_view uri,
                                const std::vector<EncodedPart>& parts);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_DATASET_CODEC_H_

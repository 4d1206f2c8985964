#ifndef FOREBAY_CLIENT_DATASET_CODEC_H_
#define FOREBAY_CLIENT_DATASET_CODEC_H_

// Datasets as proto/job.proto says, written without protobuf: each function
// returns a serialized proto.DatasetSpec.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "client/array_records.h"
#include "client/dataset_place.h"
#include "client/forebay.h"

namespace forebay::client {

// The options have been checked for null strings; `place` is theirs.
std::string EncodePlace(const forebay_loader_options& options,
                        const DatasetPlace& place);

std::string EncodeArrays(std::string_view uri, const Records& records);

// Another dataset's spec, and how many descriptors go with it.
struct EncodedPart {
  std::string_view spec;
  size_t descriptors = 0;
};

std::string EncodeSubset(std::string_view uri, const EncodedPart& whole);
std::string EncodeConcatenation(std::string_view uri,
                                const std::vector<EncodedPart>& parts);

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_DATASET_CODEC_H_

#ifndef FOREBAY_TESTS_UNIT_SERVER_DATASET_TFRECORD_EXAMPLE_BUILDER_H_
#define FOREBAY_TESTS_UNIT_SERVER_DATASET_TFRECORD_EXAMPLE_BUILDER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace forebay::dataset::tfrecord {

// Each function returns a Feature, with its list, in wire format.
std::string BytesFeature(const std::vector<std::string>& values);
std::string FloatFeature(const std::vector<float>& values,
                         bool compressed = true);
std::string Int64Feature(const std::vector<std::int64_t>& values,
                         bool compressed = true);
// Returns a FeatureList of these steps, in wire format.
std::string FeatureList(const std::vector<std::string>& features);

using Named = std::vector<std::pair<std::string, std::string>>;
std::string Example(const Named& features);
std::string SequenceExample(const Named& context, const Named& lists);

// Returns a record with its frame.
std::string Frame(std::string_view payload);

absl::Span<const std::uint8_t> AsBytes(std::string_view text);

}  // namespace forebay::dataset::tfrecord

#endif  // FOREBAY_TESTS_UNIT_SERVER_DATASET_TFRECORD_EXAMPLE_BUILDER_H_

#ifndef FOREBAY_SERVER_DATASET_SHARDS_SAMPLE_NAME_H_
#define FOREBAY_SERVER_DATASET_SHARDS_SAMPLE_NAME_H_

#include <optional>
#include <string>
#include <string_view>

namespace forebay::dataset::shards {

// A member's name, split into key and extension as webdataset splits names.
struct SampleName {
  // The part before the file name's first dot, including directories.
  std::string_view key;
  // The part after the same dot, with ASCII letters in lower case.
  std::string extension;
};

// Splits a member's name. Returns nothing if the member is not part of a
// sample: because it has no extension, has no key, or is metadata (the first
// component of its path is "__…__"). The key points into `name`. Thread-safe;
// never blocks.
std::optional<SampleName> SplitSampleName(std::string_view name);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SAMPLE_NAME_H_

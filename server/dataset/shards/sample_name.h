#ifndef FOREBAY_SERVER_DATASET_SHARDS_SAMPLE_NAME_H_
#define FOREBAY_SERVER_DATASET_SHARDS_SAMPLE_NAME_H_

#include <optional>
#include <string>
#include <string_view>

namespace forebay::dataset::shards {

// A member's name, split as webdataset does.
struct SampleName {
  // Names the sample: all before the file name's first dot, with directories.
  std::string_view key;
  // All behind that dot, with ASCII letters in lower case.
  std::string extension;
};

// Returns nothing if the member is part of no sample: it has no extension or no
// key, or is metadata (its first component is "__…__"). The key points into
// `name`. Thread-safe; never blocks.
std::optional<SampleName> SplitSampleName(std::string_view name);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_SAMPLE_NAME_H_

#ifndef FOREBAY_SERVER_DATASET_HDF5_PATH_PATTERN_H_
#define FOREBAY_SERVER_DATASET_HDF5_PATH_PATTERN_H_

#include <optional>
#include <string>
#include <string_view>

namespace forebay::dataset::hdf5 {

// A path pattern such as "data/*/image": the dataset "image" in every object of
// the group "data". Each object is one sample.
struct PathPattern {
  std::string group;  // "data"; empty for the root group
  std::string rest;   // "image"; empty if the objects themselves are datasets
};

// Splits a path at its first part "*". Returns nothing if no part is "*".
// Thread-safe; owns nothing; never blocks; has no errors.
std::optional<PathPattern> SplitPattern(std::string_view path);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_PATH_PATTERN_H_

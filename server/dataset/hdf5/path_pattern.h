#ifndef FOREBAY_SERVER_DATASET_HDF5_PATH_PATTERN_H_
#define FOREBAY_SERVER_DATASET_HDF5_PATH_PATTERN_H_

#include <optional>
#include <string>
#include <string_view>

namespace forebay::dataset::hdf5 {

// The paths of datasets in all objects of a group: "data/*/image".
struct PathPattern {
  std::string group;  // "data"; empty: the root
  std::string rest;   // "image"; empty: the objects are datasets themselves
};

// Returns nothing if no part of the path is "*". Thread-safe; never blocks.
std::optional<PathPattern> SplitPattern(std::string_view path);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_PATH_PATTERN_H_

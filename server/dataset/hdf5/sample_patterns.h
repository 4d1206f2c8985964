#ifndef FOREBAY_SERVER_DATASET_HDF5_SAMPLE_PATTERNS_H_
#define FOREBAY_SERVER_DATASET_HDF5_SAMPLE_PATTERNS_H_

#include <string>
#include <vector>

#include "server/dataset/hdf5/tree.h"

namespace forebay::dataset::hdf5 {

// Returns a pattern for each field, such as "train/*/image", if the objects of
// a group seem to be samples: more of them have arrays than there can be
// fields. Returns nothing otherwise. `arrays` are sorted by path.
//
// Thread-safe; owns nothing; never blocks; has no errors.
std::vector<std::string> SamplePatterns(const std::vector<ListedArray>& arrays);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_SAMPLE_PATTERNS_H_

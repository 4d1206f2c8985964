#ifndef FOREBAY_SERVER_DATASET_HDF5_CHECKSUM_H_
#define FOREBAY_SERVER_DATASET_HDF5_CHECKSUM_H_

#include <cstdint>

#include "absl/types/span.h"

// The checksums in HDF5 files. Thread-safe; never block; have no errors.

namespace forebay::dataset::hdf5 {

// Of metadata: Bob Jenkins' lookup3, with the initial value 0.
std::uint32_t Lookup3(absl::Span<const std::uint8_t> bytes);

// Of data: Fletcher's, as HDF5 computes it.
std::uint32_t Fletcher32(absl::Span<const std::uint8_t> bytes);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_CHECKSUM_H_

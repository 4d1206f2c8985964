#ifndef FOREBAY_SERVER_DATASET_HDF5_CHECKSUM_H_
#define FOREBAY_SERVER_DATASET_HDF5_CHECKSUM_H_

#include <cstdint>

#include "absl/types/span.h"

// Computes the checksums that HDF5 files have. Functions are thread-safe, own
// nothing, never block and have no errors.

namespace forebay::dataset::hdf5 {

// Returns the checksum of metadata: Bob Jenkins' lookup3 (hashlittle), with the
// initial value 0.
std::uint32_t Lookup3(absl::Span<const std::uint8_t> bytes);

// Returns the checksum of the fletcher32 filter: Fletcher's sum over big-endian
// 16-bit words. A last odd byte is the high byte of a word.
std::uint32_t Fletcher32(absl::Span<const std::uint8_t> bytes);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_CHECKSUM_H_

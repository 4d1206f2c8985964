#ifndef FOREBAY_SERVER_DATASET_HDF5_FILTERS_H_
#define FOREBAY_SERVER_DATASET_HDF5_FILTERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/dataset/hdf5/cursor.h"

// Filters that chunks pass through as they are written. Functions are
// thread-safe and never block; their errors give the reason alone.

namespace forebay::dataset::hdf5 {

enum class FilterKind : std::uint16_t {
  kDeflate = 1,
  kShuffle = 2,
  kFletcher32 = 3,
  kLzf = 32000,
};

struct Filter {
  FilterKind kind = FilterKind::kDeflate;
  std::uint32_t element_bytes = 0;  // of kShuffle; at least 1
};

// Reads a message with the filters, in the order in which they were applied.
// DATA_LOSS: it is damaged. UNIMPLEMENTED: one is another filter, which the
// error names.
absl::StatusOr<std::vector<Filter>> ParseFilters(Bytes message);

// Undoes the filters but those whose bit is set in `mask`, the first one's bit
// the lowest. The chunk has so many bytes then. DATA_LOSS: it has not, or it is
// damaged. RESOURCE_EXHAUSTED: there is no memory to inflate with.
absl::StatusOr<std::string> Unfilter(const std::vector<Filter>& filters,
                                     std::uint32_t mask, Bytes chunk,
                                     std::uint64_t bytes);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_FILTERS_H_

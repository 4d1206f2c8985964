#ifndef FOREBAY_SERVER_DATASET_HDF5_FILTERS_H_
#define FOREBAY_SERVER_DATASET_HDF5_FILTERS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
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
  // Of kShuffle. 0 if it cannot be: then it was left out of all chunks.
  std::uint32_t element_bytes = 0;
};

// Reads a message with the filters, in the order in which they were applied.
// DATA_LOSS: it is damaged. UNIMPLEMENTED: one is another filter, which the
// error names.
absl::StatusOr<std::vector<Filter>> ParseFilters(Bytes message);

// Bytes of the room that Unfilter needs for a chunk that has so many in the
// end.
std::uint64_t RoomToUnfilter(const std::vector<Filter>& filters,
                             std::uint32_t mask, std::uint64_t bytes);

// Undoes the filters but those whose bit is set in `mask`, the first one's bit
// the lowest. The chunk has so many bytes then. They are a part of the room or
// of the chunk. DATA_LOSS: it has not, or it is damaged. RESOURCE_EXHAUSTED:
// there is no memory to inflate with.
absl::StatusOr<Bytes> Unfilter(const std::vector<Filter>& filters,
                               std::uint32_t mask, Bytes chunk,
                               std::uint64_t bytes,
                               absl::Span<std::uint8_t> room);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_FILTERS_H_

#ifndef FOREBAY_SERVER_DATASET_HDF5_FILTERS_H_
#define FOREBAY_SERVER_DATASET_HDF5_FILTERS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/dataset/hdf5/byte_cursor.h"

// Undoes the filters that chunks passed through as they were written (HDF5 File
// Format Specification v3.0 IV.A.2.l, Filter Pipeline message). Functions are
// thread-safe, own nothing and never block. Their errors give the reason alone.

namespace forebay::dataset::hdf5 {

// The filters that can be undone, by their Filter Identification Values. LZF is
// h5py's, registered with The HDF Group.
enum class FilterKind : std::uint16_t {
  kDeflate = 1,
  kShuffle = 2,
  kFletcher32 = 3,
  kLzf = 32000,
};

// A filter of a dataset, with its parameter.
struct ChunkFilter {
  FilterKind kind = FilterKind::kDeflate;
  // Bytes of an element, for kShuffle. 0 if elements have variable length; HDF5
  // then leaves the filter out of every chunk.
  std::uint32_t element_bytes = 0;
};

// Whether `number` is the Filter Identification Value of a FilterKind.
bool IsFilterKind(std::uint64_t number);

// Reads a Filter Pipeline message. Returns the filters in the order in which a
// writer applies them. DATA_LOSS: the message is damaged. UNIMPLEMENTED: a
// filter cannot be undone; the error names that filter.
absl::StatusOr<std::vector<ChunkFilter>> ParseFilters(Bytes message);

// Returns the size in bytes of the buffer that Unfilter needs for a chunk that
// has `bytes` bytes without filters.
std::uint64_t RoomToUnfilter(const std::vector<ChunkFilter>& filters,
                             std::uint32_t mask, std::uint64_t bytes);

// Undoes the filters of a chunk, except for the filters whose bit in `mask` is
// set. Bit 0 stands for the first filter. Returns the chunk without filters:
// `bytes` bytes, which lie in `room` or in `chunk`. `room` has exactly
// RoomToUnfilter bytes. DATA_LOSS: the chunk is damaged, or does not have
// `bytes` bytes without filters. RESOURCE_EXHAUSTED: zlib has no memory.
absl::StatusOr<Bytes> Unfilter(const std::vector<ChunkFilter>& filters,
                               std::uint32_t mask, Bytes chunk,
                               std::uint64_t bytes,
                               absl::Span<std::uint8_t> room);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_FILTERS_H_

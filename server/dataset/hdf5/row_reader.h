#ifndef FOREBAY_SERVER_DATASET_HDF5_ROW_READER_H_
#define FOREBAY_SERVER_DATASET_HDF5_ROW_READER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/dataset/hdf5/array_layout.h"
#include "server/dataset/hdf5/chunk_walk.h"
#include "server/dataset/hdf5/file_view.h"

namespace forebay::dataset::hdf5 {

// Bounds the chunks that are unpacked; bytes.
inline constexpr std::uint64_t kLargestChunk = std::uint64_t{1} << 28;

// Fills rows, from that byte of an element on, with a fill value.
void FillValue(const std::string& fill, std::uint64_t offset,
               absl::Span<std::uint8_t> rows);

// Copies what a chunk without filters has of `rows`, those of the dataset from
// row `first` on.
void CopyChunk(const ArrayLayout& array, std::uint64_t number, Bytes chunk,
               std::uint64_t first, absl::Span<std::uint8_t> rows);

// Reads the first rows of a dataset, step by step. Used by one thread; counts
// what it makes in the file's memory; never blocks. Errors: those of FileView
// and Unfilter; UNIMPLEMENTED: its chunks are too large.
class RowReader {
 public:
  // Reads `rows` rows of the dataset, which has these chunks, by number, if it
  // is chunked. Both outlive this.
  RowReader(const ArrayLayout* array, const std::vector<Chunk>* chunks,
            std::uint64_t rows)
      : array_(*array), chunks_(*chunks), rows_(rows) {}

  // To be called first.
  absl::Status Begin(FileView& file);
  bool done() const { return done_; }
  // Goes on. Can be called again after UNAVAILABLE. Not to be called if done.
  absl::Status Step(FileView& file);
  // Returns the rows, one behind the other. To be called once, when it is done.
  std::string Take() { return std::move(made_); }

 private:
  absl::Status ReadElements(FileView& file);
  absl::Status ReadChunk(FileView& file);

  const ArrayLayout& array_;
  const std::vector<Chunk>& chunks_;
  const std::uint64_t rows_;
  bool done_ = false;
  std::string made_;
  std::uint64_t at_ = 0;  // bytes that were read
  std::size_t next_chunk_ = 0;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_ROW_READER_H_

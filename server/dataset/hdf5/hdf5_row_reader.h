#ifndef FOREBAY_SERVER_DATASET_HDF5_HDF5_ROW_READER_H_
#define FOREBAY_SERVER_DATASET_HDF5_HDF5_ROW_READER_H_

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

// Bytes of the largest chunk that is decompressed (256 MiB). A thread that
// reads a sample from such a chunk needs a buffer of at least that size.
inline constexpr std::uint64_t kLargestChunk = std::uint64_t{1} << 28;

// Fills `rows` with copies of the fill value `fill`. The first copy begins with
// byte `offset` of the value. An empty fill value means zeros.
void FillValue(const std::string& fill, std::uint64_t offset,
               absl::Span<std::uint8_t> rows);

// Copies the elements that a chunk and `rows` have in common. `chunk` is chunk
// `number` without filters; `rows` are rows of the dataset from row `first` on.
void CopyChunk(const ArrayLayout& array, std::uint64_t number, Bytes chunk,
               std::uint64_t first, absl::Span<std::uint8_t> rows);

// Reads the first rows of a dataset, step by step. Elements that were not
// written get the fill value.
//
// Used by one thread. Owns the rows, and counts them in FileView::memory().
// Never blocks. Errors: those of FileView and of Unfilter; UNIMPLEMENTED: the
// chunks are too large.
class RowReader {
 public:
  // Reads the first `rows` rows of a dataset. If the dataset is chunked,
  // `chunks` are its chunks by number. `array` and `chunks` outlive the reader.
  RowReader(const ArrayLayout* array, const std::vector<StoredChunk>* chunks,
            std::uint64_t rows)
      : array_(*array), chunks_(*chunks), rows_(rows) {}

  // Allocates the rows and fills them with the fill value. Must be called
  // first.
  absl::Status Begin(FileView& file);
  bool done() const { return done_; }
  // Reads one piece or chunk. UNAVAILABLE: bytes are missing; the call can be
  // repeated once `file` has the bytes. Must not be called once done() is true.
  absl::Status Step(FileView& file);
  // Returns the rows, one after the other. Must be called once, when done() is
  // true.
  std::string Take() { return std::move(output_); }

 private:
  // Reads the next piece of a dataset that is not chunked.
  absl::Status ReadElements(FileView& file);
  // Reads the next chunk, or sets done_ if no further chunk has any of the
  // rows.
  absl::Status ReadChunk(FileView& file);

  const ArrayLayout& array_;
  const std::vector<StoredChunk>& chunks_;
  const std::uint64_t rows_;
  bool done_ = false;
  std::string output_;
  // Bytes of a contiguous dataset that were read so far.
  std::uint64_t at_ = 0;
  // Index of the chunk that is read next.
  std::size_t next_chunk_ = 0;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_HDF5_ROW_READER_H_

#ifndef FOREBAY_SERVER_DATASET_HDF5_FIRST_FILE_H_
#define FOREBAY_SERVER_DATASET_HDF5_FIRST_FILE_H_

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/hdf5/array_layout.h"
#include "server/dataset/hdf5/chunk_walk.h"
#include "server/dataset/hdf5/file_view.h"
#include "server/dataset/object_parser.h"
#include "server/storage/byte_source.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::hdf5 {

// Reads parts of the first file of a list while a caller waits. The file shows
// which HDF5 datasets all files have, before the files are opened as a dataset.
//
// Used by one thread. Owns the view of the file, and counts the bytes that it
// reads in `memory`. `memory` and `source` outlive this object. Calls block for
// reads, but return soon after the stop is requested. Errors give the reason
// alone, except for the source's, which name the file. CANCELLED: the stop was
// requested.
class FirstFile {
 public:
  // Prepares to read `file`, an object beneath `root`, from `source`.
  FirstFile(storage::ByteSource& source,
            std::shared_ptr<const storage::Root> root,
            storage::ListedObject file, const ReadSizes& read_sizes,
            base::WorkingMemory* memory, std::stop_token stop);

  // Calls `look` until it no longer returns UNAVAILABLE. Before each further
  // call, reads the bytes that the view wants. Returns the last result of
  // `look`, or the error of a read.
  absl::Status Look(absl::FunctionRef<absl::Status(FileView&)> look);

  // Whether the last error came from the source, whose errors already name the
  // file.
  bool read_failed() const { return read_failed_; }

  // Reads the values of a dataset's first rows and passes them to `show`. The
  // values are valid only during the call of `show`. A value of variable length
  // has `element_bytes` bytes for each of its elements.
  absl::Status ReadFirst(
      const ArrayLayout& array, std::uint64_t element_bytes,
      absl::FunctionRef<void(absl::Span<const absl::Span<const std::uint8_t>>)>
          show);

 private:
  // Returns all chunks of a dataset. Returns none if the dataset is not
  // chunked.
  absl::StatusOr<std::vector<StoredChunk>> FindChunks(const ArrayLayout& array);

  storage::ByteSource& source_;
  const std::shared_ptr<const storage::Root> root_;
  const storage::ListedObject file_;
  const std::stop_token stop_;
  FileView view_;
  bool read_failed_ = false;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_FIRST_FILE_H_

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

// Looks into one file as long as somebody waits for it. Used by one thread.
// Counts in the memory what it reads; that and the source outlive it. Calls
// block for reads, but return soon after the stop is requested. Errors give
// the reason alone, but for those of the source; CANCELLED: stopped.
class FirstFile {
 public:
  FirstFile(storage::ByteSource& source,
            std::shared_ptr<const storage::Root> root,
            storage::ListedObject file, const ReadSizes& read_sizes,
            base::WorkingMemory* memory, std::stop_token stop);

  // Calls `look` again and again, until it has all that it wants to see.
  absl::Status Look(absl::FunctionRef<absl::Status(FileView&)> look);

  // Whether an error was the source's, which names the file.
  bool read_failed() const { return read_failed_; }

  // Shows the first values of a dataset, of any length, or of a fixed one. Each
  // is of some elements of so many bytes.
  absl::Status ReadFirst(
      const ArrayLayout& array, std::uint64_t element_bytes,
      absl::FunctionRef<void(absl::Span<const absl::Span<const std::uint8_t>>)>
          show);

 private:
  absl::StatusOr<std::vector<Chunk>> FindChunks(const ArrayLayout& array);

  storage::ByteSource& source_;
  const std::shared_ptr<const storage::Root> root_;
  const storage::ListedObject file_;
  const std::stop_token stop_;
  FileView view_;
  bool read_failed_ = false;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_FIRST_FILE_H_

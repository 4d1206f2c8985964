#ifndef FOREBAY_SERVER_DATASET_NPY_NPY_SCAN_H_
#define FOREBAY_SERVER_DATASET_NPY_NPY_SCAN_H_

#include <cstddef>
#include <memory>
#include <stop_token>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/npy/npy_index.h"
#include "server/storage/byte_source.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::npy {

// Options of ScanNpyFiles.
struct NpyScanOptions {
  // Number of files that are read at the same time; at least 1. Each file is
  // read by one thread, with one read at a time.
  std::size_t files_at_once = 8;
  // The stop that ends the scan early with CANCELLED.
  std::stop_token stop;
};

// Reads the headers of `files`, which are objects beneath `root`, from
// `source`, and makes their index. All files must have rows of one type. The
// index keeps the part of `memory` that counts the index.
//
// Blocks for the reads, but returns soon after its stop is requested; reads may
// still be in flight then. The error is that of the first file that cannot be
// used, and names this file. Errors: those of ReadNpyRows, of NpyIndex::Create
// and of the source; INVALID_ARGUMENT: the file's rows have another type than
// those of the first file. Three errors name no file. NOT_FOUND: there are no
// files. CANCELLED: the stop was requested. RESOURCE_EXHAUSTED: `memory` has no
// room.
absl::StatusOr<std::shared_ptr<const NpyIndex>> ScanNpyFiles(
    storage::ByteSource& source,
    const std::shared_ptr<const storage::Root>& root,
    absl::Span<const storage::ListedObject> files,
    const NpyScanOptions& options, base::WorkingMemory& memory);

}  // namespace forebay::dataset::npy

#endif  // FOREBAY_SERVER_DATASET_NPY_NPY_SCAN_H_

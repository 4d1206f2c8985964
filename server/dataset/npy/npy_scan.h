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

struct NpyScanOptions {
  std::size_t files_at_once = 8;  // at least 1; each has one read in flight
  std::stop_token stop;           // ends the scan early
};

// Indexes `files`, objects beneath `root`, by their headers, which it reads
// from `source`. All must have rows of one type. The index keeps its part of
// `memory`.
//
// Blocks for the reads, but returns soon after its stop is requested. Reads may
// still be in flight then. Errors name the first file that cannot be used:
// those of ReadNpyRows, of NpyIndex::Create and of the source;
// INVALID_ARGUMENT: its rows are of another type than the first file's. Errors
// without one: NOT_FOUND: there are no files; CANCELLED: stopped;
// RESOURCE_EXHAUSTED: that of `memory`.
absl::StatusOr<std::shared_ptr<const NpyIndex>> ScanNpyFiles(
    storage::ByteSource& source,
    const std::shared_ptr<const storage::Root>& root,
    absl::Span<const storage::ListedObject> files,
    const NpyScanOptions& options, base::WorkingMemory& memory);

}  // namespace forebay::dataset::npy

#endif  // FOREBAY_SERVER_DATASET_NPY_NPY_SCAN_H_

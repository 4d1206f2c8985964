#ifndef FOREBAY_SERVER_STORAGE_COMPRESSED_SCAN_OF_H_
#define FOREBAY_SERVER_STORAGE_COMPRESSED_SCAN_OF_H_

#include <memory>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/storage/compressed/compressed_scan.h"
#include "server/storage/compressed/compression.h"

namespace forebay::storage::compressed {

// Returns a scan for a file with that compression. `memory` outlives the scan.
// Errors are those of CompressedScan.
absl::StatusOr<std::unique_ptr<CompressedScan>> ScanOf(
    Compression compression, base::WorkingMemory* memory);

}  // namespace forebay::storage::compressed

#endif  // FOREBAY_SERVER_STORAGE_COMPRESSED_SCAN_OF_H_

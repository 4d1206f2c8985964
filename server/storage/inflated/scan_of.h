#ifndef FOREBAY_SERVER_STORAGE_INFLATED_SCAN_OF_H_
#define FOREBAY_SERVER_STORAGE_INFLATED_SCAN_OF_H_

#include <memory>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/storage/inflated/packed_scan.h"
#include "server/storage/inflated/packing.h"

namespace forebay::storage::inflated {

// Returns the scan of a file that is packed so. `memory` outlives it. Errors:
// those of PackedScan.
absl::StatusOr<std::unique_ptr<PackedScan>> ScanOf(Packing packing,
                                                   base::WorkingMemory* memory);

}  // namespace forebay::storage::inflated

#endif  // FOREBAY_SERVER_STORAGE_INFLATED_SCAN_OF_H_

#include "server/storage/inflated/scan_of.h"

#include "server/storage/inflated/inflate_scan.h"
#include "server/storage/inflated/zstd_scan.h"

namespace forebay::storage::inflated {

absl::StatusOr<std::unique_ptr<PackedScan>> ScanOf(
    Packing packing, base::WorkingMemory* memory) {
  if (packing == Packing::kZstd) return ZstdScan::Create(memory);
  return InflateScan::Create(packing, memory);
}

}  // namespace forebay::storage::inflated

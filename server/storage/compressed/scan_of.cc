#include "server/storage/compressed/scan_of.h"

#include "server/storage/compressed/inflate_scan.h"
#include "server/storage/compressed/zstd_scan.h"

namespace forebay::storage::compressed {

absl::StatusOr<std::unique_ptr<CompressedScan>> ScanOf(
    Compression compression, base::WorkingMemory* memory) {
  if (compression == Compression::kZstd) return ZstdScan::Create(memory);
  return InflateScan::Create(compression, memory);
}

}  // namespace forebay::storage::compressed

#ifndef FOREBAY_SERVER_STORAGE_MEMORY_MEMORY_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_MEMORY_MEMORY_SOURCE_H_

#include "absl/types/span.h"
#include "server/storage/byte_source.h"

namespace forebay::storage::memory {

// Reads below MemoryRoots. Results are references to the memory itself, so
// caching or scheduling these reads gains nothing.
//
// Thread-safe. The caller owns it. Never blocks: each read completes before
// Read returns. INVALID_ARGUMENT if the root is not a MemoryRoot, or the range
// lies outside the memory.
class MemorySource final : public ByteSource {
 public:
  // Whether this source reads below `root`.
  static bool Leads(const Root& root);

  void Read(absl::Span<ReadRequest> requests) override;
};

}  // namespace forebay::storage::memory

#endif  // FOREBAY_SERVER_STORAGE_MEMORY_MEMORY_SOURCE_H_

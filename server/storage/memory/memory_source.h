#ifndef FOREBAY_SERVER_STORAGE_MEMORY_MEMORY_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_MEMORY_MEMORY_SOURCE_H_

#include "absl/types/span.h"
#include "server/storage/byte_source.h"

namespace forebay::storage::memory {

// Reads below MemoryRoots: gives references to the memory itself, so that
// caching or scheduling such reads gains nothing. As ByteSource says; completes
// each read before Read returns. Errors: INVALID_ARGUMENT (another kind of
// root, or a range outside the memory).
class MemorySource final : public ByteSource {
 public:
  // Returns whether it reads below `root`.
  static bool Leads(const Root& root);

  void Read(absl::Span<ReadRequest> requests) override;
};

}  // namespace forebay::storage::memory

#endif  // FOREBAY_SERVER_STORAGE_MEMORY_MEMORY_SOURCE_H_

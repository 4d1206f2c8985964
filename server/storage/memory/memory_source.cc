#include "server/storage/memory/memory_source.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/storage/memory/memory_root.h"

namespace forebay::storage::memory {
namespace {

// Returns a reference to the bytes that the request wants.
absl::StatusOr<ReadResult> Find(const ReadRequest& request) {
  const auto* const root = dynamic_cast<const MemoryRoot*>(request.root.get());
  if (root == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        request.object, ": ", request.root->uri(), " does not lie in memory"));
  }
  if (root->memory() == nullptr) return ReadResult{};
  const absl::Span<const std::uint8_t> all = root->memory()->bytes();
  if (request.offset > all.size() ||
      request.length > all.size() - request.offset) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.object, ": has ", all.size(), " bytes, not ",
                     request.length, " from ", request.offset, " on"));
  }
  return ReadResult{
      .bytes = base::Bytes(root->memory(),
                           all.subspan(request.offset, request.length))};
}

}  // namespace

bool MemorySource::Leads(const Root& root) {
  return dynamic_cast<const MemoryRoot*>(&root) != nullptr;
}

void MemorySource::Read(absl::Span<ReadRequest> requests) {
  for (ReadRequest& request : requests) {
    std::exchange(request.done, nullptr)(Find(request));
  }
}

}  // namespace forebay::storage::memory

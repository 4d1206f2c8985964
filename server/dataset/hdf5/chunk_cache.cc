#include "server/dataset/hdf5/chunk_cache.h"

#include <utility>

#include "server/base/status.h"
#include "server/dataset/dataset.h"
#include "server/dataset/version_digest.h"

namespace forebay::dataset::hdf5 {
namespace {

Version DigestOf(const std::vector<Filter>& filters, std::uint32_t mask,
                 Bytes chunk, std::uint64_t bytes) {
  VersionDigest digest("hdf5 chunk");
  for (const Filter& filter : filters) {
    digest.Add(static_cast<std::uint32_t>(filter.kind))
        .Add(filter.element_bytes);
  }
  digest.Add(mask).Add(bytes);
  return digest.AddItems(chunk.data(), chunk.size()).Get();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const std::string>> ChunkCache::Get(
    const std::vector<Filter>& filters, std::uint32_t mask, Bytes chunk,
    std::uint64_t bytes) {
  const Version digest = DigestOf(filters, mask, chunk, bytes);
  if (auto found = cache_.Find(digest); found != nullptr) return found;
  FOREBAY_ASSIGN_OR_RETURN(std::string made,
                           Unfilter(filters, mask, chunk, bytes));
  auto plain = std::make_shared<const std::string>(std::move(made));
  cache_.Keep(digest, plain->size(), [&] { return plain; });
  return plain;
}

}  // namespace forebay::dataset::hdf5

#include "server/dataset/hdf5/chunk_cache.h"

#include <utility>

#include "server/base/status.h"
#include "server/dataset/dataset.h"
#include "server/dataset/version_digest.h"

namespace forebay::dataset::hdf5 {
namespace {

// Returns the key of a chunk: a digest of its bytes in the file and of the
// other arguments of Unfilter.
Version DigestOf(const std::vector<ChunkFilter>& filters, std::uint32_t mask,
                 Bytes chunk, std::uint64_t bytes) {
  VersionDigest digest("hdf5 chunk");
  for (const ChunkFilter& filter : filters) {
    digest.Add(static_cast<std::uint32_t>(filter.kind))
        .Add(filter.element_bytes);
  }
  digest.Add(mask).Add(bytes);
  return digest.AddItems(chunk.data(), chunk.size()).Get();
}

}  // namespace

absl::StatusOr<PlainChunk> ChunkCache::Get(
    const std::vector<ChunkFilter>& filters, std::uint32_t mask, Bytes chunk,
    std::uint64_t bytes, std::uint64_t rows, DecompressionRoom room) {
  Version digest = {};
  // Only chunks of several rows are looked up and cached: with one row, no
  // other sample needs the chunk.
  if (rows > 1) {
    digest = DigestOf(filters, mask, chunk, bytes);
    if (auto kept = cache_.Find(digest); kept != nullptr) {
      const Bytes plain(reinterpret_cast<const std::uint8_t*>(kept->data()),
                        kept->size());
      return PlainChunk{plain, std::move(kept)};
    }
  }
  FOREBAY_ASSIGN_OR_RETURN(const absl::Span<std::uint8_t> decompressed,
                           room(RoomToUnfilter(filters, mask, bytes)));
  FOREBAY_ASSIGN_OR_RETURN(const Bytes plain,
                           Unfilter(filters, mask, chunk, bytes, decompressed));
  if (rows > 1) {
    cache_.Keep(digest, plain.size(), [&] {
      return std::make_shared<const std::string>(plain.begin(), plain.end());
    });
  }
  return PlainChunk{plain, nullptr};
}

}  // namespace forebay::dataset::hdf5

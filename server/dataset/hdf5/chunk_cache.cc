#include "server/dataset/hdf5/chunk_cache.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "server/base/status.h"
#include "server/base/working_memory.h"
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

absl::StatusOr<PlainChunk> ChunkCache::Get(const std::vector<Filter>& filters,
                                           std::uint32_t mask, Bytes chunk,
                                           std::uint64_t bytes,
                                           UnpackRoom room) {
  const Version digest = DigestOf(filters, mask, chunk, bytes);
  if (auto kept = Find(digest); kept != nullptr) {
    const Bytes plain(reinterpret_cast<const std::uint8_t*>(kept->data()),
                      kept->size());
    return PlainChunk{plain, std::move(kept)};
  }
  FOREBAY_ASSIGN_OR_RETURN(const absl::Span<std::uint8_t> unpacked,
                           room(RoomToUnfilter(filters, mask, bytes)));
  FOREBAY_ASSIGN_OR_RETURN(const Bytes plain,
                           Unfilter(filters, mask, chunk, bytes, unpacked));
  Keep(digest, plain);
  return PlainChunk{plain, nullptr};
}

std::shared_ptr<const std::string> ChunkCache::Find(const Version& digest) {
  base::MutexLock lock(&mutex_);
  const auto found =
      std::find_if(entries_.begin(), entries_.end(),
                   [&](const Entry& one) { return one.digest == digest; });
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return found->plain;
}

void ChunkCache::Keep(const Version& digest, Bytes plain) {
  const std::uint64_t bytes = plain.size();
  if (budget_ == nullptr || bytes > most_bytes_) return;
  auto reservation = budget_->ReserveSpare(base::HeapBytes(bytes));
  std::shared_ptr<const std::string> copy;
  if (reservation.has_value())
    copy = std::make_shared<const std::string>(plain.begin(), plain.end());
  std::list<Entry> gone;
  base::MutexLock lock(&mutex_);
  while (!entries_.empty() &&
         (!reservation.has_value() || bytes_ > most_bytes_ - bytes)) {
    bytes_ -= entries_.back().plain->size();
    gone.splice(gone.begin(), entries_, std::prev(entries_.end()));
    // Others need the room.
    if (!reservation.has_value()) return;
  }
  if (!reservation.has_value()) return;
  entries_.push_front({digest, std::move(copy), *std::move(reservation)});
  bytes_ += bytes;
}

}  // namespace forebay::dataset::hdf5

// A kept chunk is one string: the number of records and their ends as u64, then
// the records. Finding a record takes two loads. The digest of a chunk's bytes
// is its key, so that a chunk of a changed file is never mistaken for the old
// one.
#include "server/dataset/array_record/kept_chunks.h"

#include <algorithm>
#include <cstring>

#include "server/base/check.h"
#include "server/dataset/version_digest.h"

namespace forebay::dataset::array_record {
namespace {

void AppendNumber(std::uint64_t number, std::string* out) {
  out->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

}  // namespace

std::uint64_t ChunkRecords::NumberAt(std::uint64_t place) const {
  std::uint64_t number = 0;
  std::memcpy(&number, kept_->data() + place * sizeof(number), sizeof(number));
  return number;
}

absl::Span<const std::uint8_t> ChunkRecords::At(std::uint64_t place) const {
  FOREBAY_CHECK(place < size());
  // The number at index 0 is the count of records. The end of record `place` is
  // therefore the number at index `place + 1`.
  const std::uint64_t begin = place == 0 ? 0 : NumberAt(place);
  const std::uint64_t end = NumberAt(place + 1);
  const char* const records =
      kept_->data() + (size() + 1) * sizeof(std::uint64_t);
  return {reinterpret_cast<const std::uint8_t*>(records + begin), end - begin};
}

Version KeptChunks::DigestOf(absl::Span<const std::uint8_t> chunk) {
  return VersionDigest("array_record chunk")
      .AddItems(chunk.data(), chunk.size())
      .Get();
}

std::optional<ChunkRecords> KeptChunks::Find(const Version& digest) {
  auto kept = cache_.Find(digest);
  if (kept == nullptr) return std::nullopt;
  return ChunkRecords(std::move(kept));
}

void KeptChunks::Add(const Version& digest, Chunk chunk) {
  // Another thread may have kept the chunk since the caller's Find.
  if (!WasSeen(digest) || cache_.Find(digest) != nullptr) return;
  const std::uint64_t records = chunk.left();
  std::uint64_t bytes = (records + 1) * sizeof(std::uint64_t);
  // The first pass measures the records, so that the string is allocated once.
  for (Chunk all = chunk; all.left() > 0;) bytes += all.Next().size();
  cache_.Keep(digest, bytes, [&] {
    auto kept = std::make_shared<std::string>();
    kept->reserve(bytes);
    AppendNumber(records, kept.get());
    std::uint64_t end = 0;
    for (Chunk all = chunk; all.left() > 0;) {
      end += all.Next().size();
      AppendNumber(end, kept.get());
    }
    while (chunk.left() > 0) {
      const auto record = chunk.Next();
      kept->append(reinterpret_cast<const char*>(record.data()), record.size());
    }
    return kept;
  });
}

bool KeptChunks::WasSeen(const Version& digest) {
  base::MutexLock lock(&mutex_);
  if (std::find(seen_.begin(), seen_.end(), digest) != seen_.end()) return true;
  seen_[next_seen_] = digest;
  next_seen_ = (next_seen_ + 1) % seen_.size();
  return false;
}

}  // namespace forebay::dataset::array_record

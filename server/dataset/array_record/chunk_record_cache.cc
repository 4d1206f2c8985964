// A kept chunk is one string: the number of records and their ends as u64, then
// the records. Finding a record takes two loads. The key is the digest of the
// chunk's bytes in the file. So if a file changes, its new chunk is never
// mistaken for the old one.
#include "server/dataset/array_record/chunk_record_cache.h"

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
  std::memcpy(&number, bytes_->data() + place * sizeof(number), sizeof(number));
  return number;
}

absl::Span<const std::uint8_t> ChunkRecords::At(std::uint64_t place) const {
  FOREBAY_CHECK(place < size());
  // The number at index 0 is the count of records. The end of record `place` is
  // therefore the number at index `place + 1`.
  const std::uint64_t begin = place == 0 ? 0 : NumberAt(place);
  const std::uint64_t end = NumberAt(place + 1);
  const char* const records =
      bytes_->data() + (size() + 1) * sizeof(std::uint64_t);
  return {reinterpret_cast<const std::uint8_t*>(records + begin), end - begin};
}

Version ChunkRecordCache::DigestOf(absl::Span<const std::uint8_t> chunk) {
  return VersionDigest("array_record chunk")
      .AddItems(chunk.data(), chunk.size())
      .Get();
}

std::optional<ChunkRecords> ChunkRecordCache::Find(const Version& digest) {
  auto bytes = cache_.Find(digest);
  if (bytes == nullptr) return std::nullopt;
  return ChunkRecords(std::move(bytes));
}

void ChunkRecordCache::Add(const Version& digest, Chunk chunk) {
  // Another thread may have kept the chunk since the caller's Find.
  if (!WasReadLately(digest) || cache_.Find(digest) != nullptr) return;
  const std::uint64_t records = chunk.left();
  std::uint64_t bytes = (records + 1) * sizeof(std::uint64_t);
  // The first pass measures the records, so that the string is allocated once.
  for (Chunk all = chunk; all.left() > 0;) bytes += all.Next().size();
  cache_.Keep(digest, bytes, [&] {
    auto content = std::make_shared<std::string>();
    content->reserve(bytes);
    AppendNumber(records, content.get());
    std::uint64_t end = 0;
    for (Chunk all = chunk; all.left() > 0;) {
      end += all.Next().size();
      AppendNumber(end, content.get());
    }
    while (chunk.left() > 0) {
      const auto record = chunk.Next();
      content->append(reinterpret_cast<const char*>(record.data()),
                      record.size());
    }
    return content;
  });
}

bool ChunkRecordCache::WasReadLately(const Version& digest) {
  base::MutexLock lock(&mutex_);
  if (std::find(digests_.begin(), digests_.end(), digest) != digests_.end())
    return true;
  digests_[next_digest_] = digest;
  next_digest_ = (next_digest_ + 1) % digests_.size();
  return false;
}

}  // namespace forebay::dataset::array_record

#include "server/dataset/decompressed_cache.h"

#include <cstring>
#include <iterator>
#include <utility>

#include "server/base/check.h"
#include "server/base/working_memory.h"

namespace forebay::dataset {
namespace {

// Bytes of heap that an entry takes besides its chunk: its nodes in the list
// and in the map, the string object, and the shared pointer's reference counts.
constexpr std::uint64_t kBytesOfEntry = 4 * base::HeapBytes(48);

}  // namespace

std::size_t DecompressedCache::StartOf::operator()(
    const Version& digest) const {
  std::size_t start = 0;
  std::memcpy(&start, digest.data(), sizeof(start));
  return start;
}

std::shared_ptr<const std::string> DecompressedCache::Find(
    const Version& digest) {
  base::MutexLock lock(&mutex_);
  return FindLocked(digest);
}

std::shared_ptr<const std::string> DecompressedCache::FindLocked(
    const Version& digest) {
  const auto found = by_digest_.find(digest);
  if (found == by_digest_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->decompressed;
}

void DecompressedCache::Keep(
    const Version& digest, std::uint64_t bytes,
    absl::FunctionRef<std::shared_ptr<const std::string>()> make) {
  if (budget_ == nullptr || bytes > most_bytes_) return;
  if (Find(digest) != nullptr) return;
  // ReserveSpare does not take the last bytes of the budget, which other users
  // need.
  auto reservation =
      budget_->ReserveSpare(base::HeapBytes(bytes) + kBytesOfEntry);
  // `make` may copy megabytes. So it runs without the mutex, and only if the
  // budget has room.
  std::shared_ptr<const std::string> decompressed;
  if (reservation.has_value()) decompressed = make();
  std::list<Entry> gone;
  base::MutexLock lock(&mutex_);
  // Another thread may have kept the same chunk in the meantime.
  if (FindLocked(digest) != nullptr) return;
  while (!entries_.empty() &&
         (!reservation.has_value() || bytes_ > most_bytes_ - bytes)) {
    bytes_ -= entries_.back().decompressed->size();
    by_digest_.erase(entries_.back().digest);
    gone.splice(gone.begin(), entries_, std::prev(entries_.end()));
    // Memory is short, so one entry is freed for other users of the budget.
    if (!reservation.has_value()) return;
  }
  if (!reservation.has_value()) return;
  FOREBAY_CHECK(decompressed->size() == bytes);
  entries_.push_front(
      {digest, std::move(decompressed), *std::move(reservation)});
  by_digest_.emplace(digest, entries_.begin());
  bytes_ += bytes;
}

}  // namespace forebay::dataset

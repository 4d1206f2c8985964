#include "server/dataset/unpacked_cache.h"

#include <cstring>
#include <iterator>
#include <utility>

#include "server/base/check.h"
#include "server/base/working_memory.h"

namespace forebay::dataset {
namespace {

// Of heap that an entry takes besides its text: its places in the list and in
// the map, the string, and what counts its holders.
constexpr std::uint64_t kBytesOfEntry = 4 * base::HeapBytes(48);

}  // namespace

std::size_t UnpackedCache::StartOf::operator()(const Version& digest) const {
  std::size_t start = 0;
  std::memcpy(&start, digest.data(), sizeof(start));
  return start;
}

std::shared_ptr<const std::string> UnpackedCache::Find(const Version& digest) {
  base::MutexLock lock(&mutex_);
  return FindLocked(digest);
}

std::shared_ptr<const std::string> UnpackedCache::FindLocked(
    const Version& digest) {
  const auto found = by_digest_.find(digest);
  if (found == by_digest_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->unpacked;
}

void UnpackedCache::Keep(
    const Version& digest, std::uint64_t bytes,
    absl::FunctionRef<std::shared_ptr<const std::string>()> make) {
  if (budget_ == nullptr || bytes > most_bytes_) return;
  if (Find(digest) != nullptr) return;
  auto reservation =
      budget_->ReserveSpare(base::HeapBytes(bytes) + kBytesOfEntry);
  std::shared_ptr<const std::string> unpacked;
  if (reservation.has_value()) unpacked = make();
  std::list<Entry> gone;
  base::MutexLock lock(&mutex_);
  // Another thread may have kept it meanwhile.
  if (FindLocked(digest) != nullptr) return;
  while (!entries_.empty() &&
         (!reservation.has_value() || bytes_ > most_bytes_ - bytes)) {
    bytes_ -= entries_.back().unpacked->size();
    by_digest_.erase(entries_.back().digest);
    gone.splice(gone.begin(), entries_, std::prev(entries_.end()));
    // Others need the room.
    if (!reservation.has_value()) return;
  }
  if (!reservation.has_value()) return;
  FOREBAY_CHECK(unpacked->size() == bytes);
  entries_.push_front({digest, std::move(unpacked), *std::move(reservation)});
  by_digest_.emplace(digest, entries_.begin());
  bytes_ += bytes;
}

}  // namespace forebay::dataset

#include "server/dataset/index_cache.h"

#include <algorithm>
#include <utility>

// Indexes are freed while the mutex is not held. Each method moves them to a
// list that it declares before the lock. So the list is destroyed after the
// lock is released.

namespace forebay::dataset {

IndexCache::IndexCache(base::MemoryBudget* budget,
                       std::function<std::int64_t()> now)
    : budget_(budget), now_(std::move(now)) {
  budget_->set_on_shortage([this] { GiveUpAll(); });
}

IndexCache::~IndexCache() { budget_->set_on_shortage(nullptr); }

void IndexCache::Keep(std::string_view place, std::shared_ptr<const void> index,
                      std::uint64_t bytes) {
  const std::uint64_t most = budget_->limit() / kPart;
  const std::int64_t now = now_();
  std::list<Entry> freed;
  base::MutexLock lock(&mutex_);
  const auto earlier = std::find_if(
      entries_.begin(), entries_.end(),
      [place](const Entry& entry) { return entry.place == place; });
  if (earlier != entries_.end()) Take(earlier, &freed);
  if (bytes < kLeast || bytes > most) return;
  // The least recently opened indexes make room for the new index.
  while (bytes > most - bytes_) TakeLast(&freed);
  entries_.push_front({std::string(place), std::move(index), bytes, now});
  bytes_ += bytes;
}

void IndexCache::GiveUpIdle(std::int64_t idle_nanos) {
  const std::int64_t now = now_();
  std::list<Entry> freed;
  base::MutexLock lock(&mutex_);
  while (!entries_.empty() &&
         now - entries_.back().opened_at_nanos >= idle_nanos)
    TakeLast(&freed);
}

void IndexCache::GiveUpAll() {
  std::list<Entry> freed;
  base::MutexLock lock(&mutex_);
  while (!entries_.empty()) TakeLast(&freed);
}

void IndexCache::Take(std::list<Entry>::iterator entry,
                      std::list<Entry>* freed) {
  bytes_ -= entry->bytes;
  freed->splice(freed->end(), entries_, entry);
}

}  // namespace forebay::dataset

#include "server/dataset/kept_indexes.h"

#include <algorithm>
#include <utility>

// Indexes are freed while the mutex is not held. Each method moves them to a
// list that it declares before the lock. So the list is destroyed after the
// lock is released.

namespace forebay::dataset {

KeptIndexes::KeptIndexes(base::MemoryBudget* budget,
                         std::function<std::int64_t()> now)
    : budget_(budget), now_(std::move(now)) {
  budget_->set_on_shortage([this] { GiveUpAll(); });
}

KeptIndexes::~KeptIndexes() { budget_->set_on_shortage(nullptr); }

void KeptIndexes::Keep(std::string_view place,
                       std::shared_ptr<const void> index, std::uint64_t bytes) {
  const std::uint64_t most = budget_->limit() / kPart;
  const std::int64_t now = now_();
  std::list<Kept> freed;
  base::MutexLock lock(&mutex_);
  const auto earlier =
      std::find_if(kept_.begin(), kept_.end(),
                   [place](const Kept& kept) { return kept.place == place; });
  if (earlier != kept_.end()) Take(earlier, &freed);
  if (bytes < kLeast || bytes > most) return;
  // The least recently opened indexes make room for the new index.
  while (bytes > most - bytes_) TakeLast(&freed);
  kept_.push_front({std::string(place), std::move(index), bytes, now});
  bytes_ += bytes;
}

void KeptIndexes::GiveUpIdle(std::int64_t idle_nanos) {
  const std::int64_t now = now_();
  std::list<Kept> freed;
  base::MutexLock lock(&mutex_);
  while (!kept_.empty() && now - kept_.back().opened_at_nanos >= idle_nanos)
    TakeLast(&freed);
}

void KeptIndexes::GiveUpAll() {
  std::list<Kept> freed;
  base::MutexLock lock(&mutex_);
  while (!kept_.empty()) TakeLast(&freed);
}

void KeptIndexes::Take(std::list<Kept>::iterator kept, std::list<Kept>* freed) {
  bytes_ -= kept->bytes;
  freed->splice(freed->end(), kept_, kept);
}

}  // namespace forebay::dataset

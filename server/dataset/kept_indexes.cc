#include "server/dataset/kept_indexes.h"

#include <iterator>

namespace forebay::dataset {

KeptIndexes::KeptIndexes(base::MemoryBudget* budget,
                         std::function<std::int64_t()> now)
    : budget_(budget), now_(std::move(now)) {
  budget_->set_on_shortage([this] { GiveUpAll(); });
}

KeptIndexes::~KeptIndexes() { budget_->set_on_shortage(nullptr); }

void KeptIndexes::Keep(std::shared_ptr<const void> index, std::uint64_t bytes) {
  const std::uint64_t most = budget_->limit() / kPart;
  if (bytes < kLeast || bytes > most) return;
  const std::int64_t now = now_();
  std::list<Kept> freed;
  base::MutexLock lock(&mutex_);
  for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
    if (kept->index != index) continue;
    kept->opened_at_nanos = now;
    kept_.splice(kept_.begin(), kept_, kept);
    return;
  }
  while (bytes > most - bytes_) TakeLast(&freed);
  kept_.push_front({std::move(index), bytes, now});
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

void KeptIndexes::TakeLast(std::list<Kept>* freed) {
  bytes_ -= kept_.back().bytes;
  freed->splice(freed->end(), kept_, std::prev(kept_.end()));
}

}  // namespace forebay::dataset

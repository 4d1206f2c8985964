#include "server/stream/batch_cache.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "proto/shm_ring.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/cache/next_use.h"

namespace forebay::stream {

BatchCache::BatchCache(base::MemoryBudget* budget, std::uint64_t slot_bytes)
    : budget_(budget), pool_(slot_bytes) {}

absl::Status BatchCache::Pay(std::uint32_t slots) {
  const std::uint64_t needed = (paid_ + slots) * pool_.slot_bytes();
  if (needed > room_.bytes()) {
    FOREBAY_ASSIGN_OR_RETURN(
        auto more, budget_->Reserve(needed - room_.bytes(), "batches"));
    room_.Add(std::move(more));
  }
  paid_ += slots;
  return absl::OkStatus();
}

void BatchCache::EndPay(std::uint32_t slots) {
  FOREBAY_CHECK(slots <= paid_);
  paid_ -= slots;
  Settle();
}

void BatchCache::Settle() {
  const std::uint64_t slots = std::max(paid_, pool_.slots() + growing_);
  room_.ShrinkTo(std::min(room_.bytes(), slots * pool_.slot_bytes()));
}

bool BatchCache::Grow(bool spare) {
  const std::uint32_t slots = pool_.slots() + growing_;
  if (stunted_ || slots >= proto::kMaxSlots) return false;
  if ((slots + 1) * pool_.slot_bytes() > room_.bytes()) {
    if (!spare) return false;
    // However often this is asked, half of what was free is left.
    const std::uint64_t unpaid = slots + 1 - std::min(paid_, slots);
    const std::uint64_t free = budget_->limit() - budget_->used();
    if ((unpaid + 1) * pool_.slot_bytes() > free) return false;
    auto more = budget_->ReserveSpare(pool_.slot_bytes());
    if (!more.has_value()) return false;
    room_.Add(*std::move(more));
  }
  ++growing_;
  return true;
}

void BatchCache::Grown(std::vector<arena::SharedMemory> memory) {
  FOREBAY_CHECK(memory.size() <= growing_);
  growing_ -= static_cast<std::uint32_t>(memory.size());
  pool_.Add(std::move(memory));
}

void BatchCache::NotGrown() {
  FOREBAY_CHECK(growing_ > 0);
  --growing_;
  stunted_ = true;
  Settle();
}

const CompletedBatch* BatchCache::Victim(const NextUse& next_use) const {
  const CompletedBatch* victim = nullptr;
  std::tuple<std::int64_t, std::uint64_t, std::uint64_t> last;
  for (const auto& [key, batch] : completed_) {
    if (!batch.status.ok() || pool_.IsLeased(batch.slot)) continue;
    const std::tuple rank(next_use(key), UINT64_MAX - key.epoch,
                          key.first_sample);
    if (victim != nullptr && rank <= last) continue;
    victim = &batch;
    last = rank;
  }
  return victim;
}

void BatchCache::Evict(const CompletedBatch& batch) {
  pool_.Free(batch.slot);
  completed_.erase(BatchKey(batch.key));
}

void BatchCache::Put(CompletedBatch batch) {
  if (batch.status.ok()) {
    pool_.Finish(batch.slot);
  } else {
    ++failures_;
  }
  const BatchKey key = batch.key;
  FOREBAY_CHECK(completed_.emplace(key, std::move(batch)).second);
}

const CompletedBatch* BatchCache::Find(const BatchKey& key) const {
  const auto found = completed_.find(key);
  return found == completed_.end() ? nullptr : &found->second;
}

void BatchCache::DropFailures(
    const std::function<bool(const BatchKey&)>& wanted) {
  if (failures_ == 0) return;
  failures_ -= std::erase_if(completed_, [&](const auto& entry) {
    return !entry.second.status.ok() && !wanted(entry.first);
  });
}

void BatchCache::Forget(std::uint64_t epoch) {
  // Of no epoch that there is.
  BatchKey key = {UINT64_MAX, 0};
  while (completed_.count(key) != 0) ++key.first_sample;
  for (auto kept = completed_.lower_bound({epoch, 0});
       kept != completed_.end() && kept->first.epoch == epoch;) {
    auto node = completed_.extract(kept++);
    if (!node.mapped().status.ok()) {
      --failures_;
      continue;
    }
    node.key() = node.mapped().key = key;
    completed_.insert(std::move(node));
    ++key.first_sample;
  }
}

void BatchCache::Trim() {
  while (pool_.slots() > paid_) {
    const std::uint32_t last = pool_.slots() - 1;
    const auto kept = std::find_if(
        completed_.begin(), completed_.end(), [&](const auto& entry) {
          return entry.second.status.ok() && entry.second.slot == last;
        });
    if (kept != completed_.end()) {
      if (pool_.IsLeased(last)) break;
      Evict(kept->second);
    }
    if (!pool_.RemoveLast()) break;
  }
  Settle();
}

arena::SlotPool BatchCache::Clear() {
  FOREBAY_CHECK(growing_ == 0);
  completed_.clear();
  failures_ = 0;
  arena::SlotPool cleared =
      std::exchange(pool_, arena::SlotPool(pool_.slot_bytes()));
  Settle();
  return cleared;
}

}  // namespace forebay::stream

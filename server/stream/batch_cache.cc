#include "server/stream/batch_cache.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "proto/shm_ring.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/cache/next_use.h"

namespace forebay::stream {
namespace {

// The epoch in the keys of hidden batches; no epoch has that number.
constexpr std::uint64_t kHidden = UINT64_MAX;

}  // namespace

const absl::Status& CompletedBatch::StatusOn(
    const device::Device* device) const {
  if (!status.ok() || device == nullptr) return status;
  const auto copy = std::find_if(
      copies.begin(), copies.end(),
      [&](const BatchCopy& other) { return other.device == device; });
  FOREBAY_CHECK(copy != copies.end());
  return copy->status;
}

absl::Status BatchCache::Pay(std::uint32_t slots) {
  FOREBAY_RETURN_IF_ERROR(memory_.Reserve(paid_ + slots));
  paid_ += slots;
  return absl::OkStatus();
}

void BatchCache::EndPay(std::uint32_t slots) {
  FOREBAY_CHECK(slots <= paid_);
  paid_ -= slots;
  Settle();
}

void BatchCache::Settle() {
  memory_.ShrinkTo(std::max(paid_, pool_.slots() + growing_ + away()));
}

void BatchCache::TakeBack(base::MemoryReservation room) {
  memory_.TakeBack(std::move(room));
  Settle();
}

std::vector<base::MemoryReservation> BatchCache::TakeLent(std::uint32_t slots) {
  std::vector<base::MemoryReservation> lent;
  for (; slots > 0 && !lent_.empty(); --slots) {
    lent.push_back(std::move(lent_.back()));
    lent_.pop_back();
  }
  return lent;
}

void BatchCache::BeginGrowing(std::uint32_t slots) {
  growing_ += slots;
  for (; lingers_ && slots > 0; --slots) lent_.push_back(memory_.Lend());
}

bool BatchCache::Grow(bool spare) {
  const std::uint32_t slots = pool_.slots() + growing_ + away();
  if (!grows_ || stunted_ || memory_.making_first() > 0 ||
      slots >= proto::kMaxSlots)
    return false;
  if (slots + 1 > memory_.reserved()) {
    if (!spare || keeps_) return false;
    // The budget must keep as much memory free as the slots that no member pays
    // for take. However often a stream grows, it thus leaves half of the memory
    // that was free.
    const std::uint64_t unpaid = slots + 1 - std::min(paid_, slots);
    if (!memory_.ReserveSpare(unpaid)) return false;
  }
  BeginGrowing(1);
  return true;
}

bool BatchCache::GrowFirst(std::uint32_t slots,
                           const std::vector<const device::Device*>& devices) {
  if (pool_.slots() + growing_ > 0 || slots + away() > memory_.reserved())
    return false;
  BeginGrowing(slots);
  memory_.BeginFirst(slots, devices);
  return true;
}

void BatchCache::Grown(std::vector<SlotParts>* slots) {
  const auto count = static_cast<std::uint32_t>(slots->size());
  FOREBAY_CHECK(count <= growing_);
  growing_ -= count;
  if (memory_.Add(slots)) {
    pool_.Add(count);
  } else {
    Settle();
  }
}

void BatchCache::NotGrown(std::uint32_t slots) {
  FOREBAY_CHECK(growing_ >= slots);
  growing_ -= slots;
  stunted_ = true;
  if (memory_.making_first() > 0) memory_.EndFirst();
  Settle();
}

void BatchCache::AddFirst(std::vector<SlotParts>* slots) {
  if (pool_.slots() > 0) return;
  const auto count = static_cast<std::uint32_t>(slots->size());
  FOREBAY_CHECK(memory_.Add(slots));
  pool_.Add(count);
}

const CompletedBatch* BatchCache::Victim(const NextUse& next_use) const {
  const CompletedBatch* victim = nullptr;
  // The rank of the victim found so far. The batch of the largest rank is
  // evicted first.
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
  for (auto batch = completed_.lower_bound({epoch, 0});
       batch != completed_.end() && batch->first.epoch == epoch;)
    batch = Hide(batch);
}

void BatchCache::ForgetUnlessOn(const device::Device* device) {
  const auto lies_there = [device](const BatchCopy& copy) {
    return copy.device == device && copy.status.ok();
  };
  for (auto batch = completed_.begin();
       batch != completed_.end() && batch->first.epoch != kHidden;) {
    const auto& copies = batch->second.copies;
    batch = std::any_of(copies.begin(), copies.end(), lies_there)
                ? std::next(batch)
                : Hide(batch);
  }
}

void BatchCache::ForgetCopiesOn(const device::Device* device) {
  for (auto& [key, batch] : completed_) {
    for (BatchCopy& copy : batch.copies)
      if (copy.device == device) copy.device = nullptr;
  }
}

BatchCache::Completed::iterator BatchCache::Hide(Completed::iterator batch) {
  const auto next = std::next(batch);
  auto node = completed_.extract(batch);
  if (!node.mapped().status.ok()) {
    --failures_;
    return next;
  }
  BatchKey key = {kHidden, 0};
  while (completed_.count(key) != 0) ++key.first_sample;
  node.key() = node.mapped().key = key;
  completed_.insert(std::move(node));
  return next;
}

std::vector<SlotParts> BatchCache::Trim() {
  std::vector<SlotParts> removed;
  while (!keeps_ && pool_.slots() > paid_) {
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
    removed.push_back(memory_.RemoveLast());
  }
  Settle();
  return removed;
}

std::vector<SlotParts> BatchCache::Clear() {
  FOREBAY_CHECK(growing_ == 0);
  completed_.clear();
  failures_ = 0;
  pool_ = slots::SlotPool();
  std::vector<SlotParts> removed;
  while (memory_.slots() > 0) removed.push_back(memory_.RemoveLast());
  Settle();
  return removed;
}

}  // namespace forebay::stream

#include "server/stream/staging_pool.h"

#include <algorithm>
#include <iterator>

#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::stream {

StagingPool::Lease& StagingPool::Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    End();
    pool_ = std::exchange(other.pool_, nullptr);
    memory_ = std::move(other.memory_);
  }
  return *this;
}

void StagingPool::Lease::End() {
  if (pool_ == nullptr) return;
  pool_->free_.push_back(std::move(memory_));
  --std::exchange(pool_, nullptr)->leased_;
}

void StagingPool::Lease::Discard() {
  if (pool_ == nullptr) return;
  memory_ = nullptr;
  --std::exchange(pool_, nullptr)->leased_;
}

absl::Status StagingPool::Pay(std::uint32_t batches) {
  const std::uint64_t needed =
      (paid_ + batches - std::min(paid_ + batches, away_)) * bytes_;
  if (needed > room_.bytes()) {
    FOREBAY_RETURN_IF_ERROR(budget_->Extend(&room_, needed - room_.bytes(),
                                            "batches on their way to a GPU"));
  }
  paid_ += batches;
  return absl::OkStatus();
}

void StagingPool::EndPay(std::uint32_t batches) {
  FOREBAY_CHECK(batches <= paid_);
  paid_ -= batches;
}

std::uint32_t StagingPool::missing() const {
  const auto there =
      static_cast<std::uint32_t>(free_.size()) + leased_ + making_ + away_;
  return paid_ - std::min(paid_, there);
}

void StagingPool::EndMaking(std::uint32_t batches,
                            std::vector<Memory>* memory) {
  FOREBAY_CHECK(batches <= making_);
  making_ -= batches;
  Add(memory);
}

void StagingPool::Add(std::vector<Memory>* memory) {
  for (; missing() > 0 && !memory->empty(); memory->pop_back())
    free_.push_back(std::move(memory->back()));
}

bool StagingPool::Grow() {
  if (bytes_ == 0 || growing_ || stunted_ || missing() == 0) return false;
  growing_ = true;
  return true;
}

void StagingPool::Grown(std::vector<Memory>* memory) {
  growing_ = false;
  stunted_ = memory->empty();
  Add(memory);
}

StagingPool::Lease StagingPool::Take() {
  FOREBAY_CHECK(HasFree());
  Memory memory = std::move(free_.back());
  free_.pop_back();
  ++leased_;
  return Lease(this, std::move(memory));
}

std::vector<StagingPool::Removed> StagingPool::Trim(bool all) {
  std::vector<Removed> removed;
  // Those that are leased may come back late: their reads may hang.
  while (!free_.empty() && (all || free_.size() > paid_)) {
    removed.push_back(Remove(std::move(free_.back())));
    free_.pop_back();
  }
  Settle();
  return removed;
}

std::vector<StagingPool::Removed> StagingPool::RemovePinnedBy(
    const cuda::Gpu* gpu) {
  const auto others = std::partition(
      free_.begin(), free_.end(),
      [gpu](const Memory& memory) { return memory->gpu() != gpu; });
  std::vector<Removed> removed;
  for (auto memory = others; memory != free_.end(); ++memory)
    removed.push_back(Remove(std::move(*memory)));
  free_.erase(others, free_.end());
  return removed;
}

StagingPool::Removed StagingPool::Remove(Memory memory) {
  Removed removed{.memory = std::move(memory)};
  if (lingers_ && room_.bytes() >= bytes_) {
    ++away_;
    removed.room = room_.Split(bytes_);
  }
  return removed;
}

void StagingPool::TakeBack(base::MemoryReservation room) {
  FOREBAY_CHECK(away_ > 0);
  --away_;
  room_.Add(std::move(room));
  Settle();
}

void StagingPool::Settle() {
  const std::uint64_t there = free_.size() + leased_ + making_;
  const std::uint64_t kept =
      std::max<std::uint64_t>(paid_ - std::min(paid_, away_), there);
  room_.ShrinkTo(std::min(room_.bytes(), kept * bytes_));
}

}  // namespace forebay::stream

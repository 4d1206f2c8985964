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
  const std::uint64_t needed = (paid_ + batches) * bytes_;
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
  const auto there = static_cast<std::uint32_t>(free_.size()) + leased_;
  return paid_ - std::min(paid_, there);
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

std::vector<StagingPool::Memory> StagingPool::Trim(bool all) {
  std::vector<Memory> removed;
  // Those that are leased may come back late: their reads may hang.
  while (!free_.empty() && (all || free_.size() > paid_)) {
    removed.push_back(std::move(free_.back()));
    free_.pop_back();
  }
  const std::uint64_t kept =
      std::max<std::uint64_t>(paid_, free_.size() + leased_);
  room_.ShrinkTo(std::min(room_.bytes(), kept * bytes_));
  return removed;
}

std::vector<StagingPool::Memory> StagingPool::RemovePinnedBy(
    const cuda::Gpu* gpu) {
  const auto others = std::partition(
      free_.begin(), free_.end(),
      [gpu](const Memory& memory) { return memory->gpu() != gpu; });
  std::vector<Memory> removed(std::make_move_iterator(others),
                              std::make_move_iterator(free_.end()));
  free_.erase(others, free_.end());
  return removed;
}

}  // namespace forebay::stream

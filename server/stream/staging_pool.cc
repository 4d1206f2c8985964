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
      (paid_ + batches - std::min(paid_ + batches, lent_)) * bytes_;
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
  return paid_ - std::min(paid_, there() + away());
}

std::uint32_t StagingPool::BeginMaking() {
  const std::uint32_t batches = missing();
  making_ += batches;
  if (lingers_) {
    lent_ += batches;
    for (std::uint32_t i = 0; i < batches; ++i)
      to_lend_.push_back(room_.Split(bytes_));
  }
  return batches;
}

std::vector<base::MemoryReservation> StagingPool::TakeLent(
    std::uint32_t batches) {
  std::vector<base::MemoryReservation> lent;
  for (; batches > 0 && !to_lend_.empty(); --batches) {
    lent.push_back(std::move(to_lend_.back()));
    to_lend_.pop_back();
  }
  return lent;
}

void StagingPool::TakeBack(base::MemoryReservation room) {
  FOREBAY_CHECK(lent_ > 0);
  --lent_;
  room_.Add(std::move(room));
  Settle();
}

void StagingPool::EndMaking(std::uint32_t batches,
                            std::vector<Memory>* memory) {
  FOREBAY_CHECK(batches <= making_);
  const std::uint32_t away = this->away();
  making_ -= batches;
  Fill(away, memory);
}

void StagingPool::Add(std::vector<Memory>* memory) { Fill(away(), memory); }

void StagingPool::Fill(std::uint32_t away, std::vector<Memory>* memory) {
  for (; there() + away < paid_ && !memory->empty(); memory->pop_back())
    free_.push_back(std::move(memory->back()));
}

std::uint32_t StagingPool::Grow() {
  if (bytes_ == 0 || growing_ || stunted_ || missing() == 0) return 0;
  growing_ = true;
  return BeginMaking();
}

void StagingPool::Grown(std::uint32_t batches, std::vector<Memory>* memory) {
  growing_ = false;
  stunted_ = memory->empty();
  EndMaking(batches, memory);
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
  // Only free memory is removed. Leased memory may come back late, since reads
  // into it may hang.
  while (!free_.empty() && (all || free_.size() > paid_)) {
    removed.push_back(std::move(free_.back()));
    free_.pop_back();
  }
  Settle();
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

void StagingPool::Settle() {
  const std::uint32_t kept =
      lingers_ ? paid_ - std::min(paid_, lent_) : std::max(paid_, there());
  room_.ShrinkTo(std::min(room_.bytes(), kept * bytes_));
}

}  // namespace forebay::stream

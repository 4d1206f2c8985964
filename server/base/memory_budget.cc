#include "server/base/memory_budget.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"

namespace forebay::base {
namespace {

// Returns `bytes` in MiB, rounded up, so that a message never says that 0 MiB
// are needed.
std::uint64_t MiB(std::uint64_t bytes) {
  return (bytes >> 20) + ((bytes & ((1 << 20) - 1)) != 0 ? 1 : 0);
}

// Returns the sum, or the largest number if the sum is larger.
std::uint64_t SaturatedSum(std::uint64_t a, std::uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

}  // namespace

MemoryReservation& MemoryReservation::operator=(
    MemoryReservation&& other) noexcept {
  if (this != &other) {
    Release();
    budget_ = std::exchange(other.budget_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

void MemoryReservation::Release() {
  if (budget_ != nullptr)
    std::exchange(budget_, nullptr)->GiveBack(std::exchange(bytes_, 0));
}

void MemoryReservation::Add(MemoryReservation other) {
  if (other.budget_ == nullptr) return;
  FOREBAY_CHECK(budget_ == nullptr || budget_ == other.budget_);
  budget_ = std::exchange(other.budget_, nullptr);
  bytes_ += std::exchange(other.bytes_, 0);
}

void MemoryReservation::ShrinkTo(std::uint64_t bytes) {
  FOREBAY_CHECK(bytes <= bytes_);
  // A default-constructed reservation has no budget, and no bytes.
  if (budget_ != nullptr) budget_->GiveBack(bytes_ - bytes);
  bytes_ = bytes;
}

MemoryReservation MemoryReservation::Split(std::uint64_t bytes) {
  FOREBAY_CHECK(bytes <= bytes_);
  bytes_ -= bytes;
  return {budget_, bytes};
}

absl::StatusOr<MemoryReservation> MemoryBudget::Reserve(std::uint64_t bytes,
                                                        std::string_view what) {
  MemoryReservation reservation;
  absl::Status extended = Extend(&reservation, bytes, what);
  if (!extended.ok()) return extended;
  return reservation;
}

absl::Status MemoryBudget::Extend(MemoryReservation* reservation,
                                  std::uint64_t bytes, std::string_view what) {
  absl::Status status = TryExtend(reservation, bytes, what);
  if (status.ok() || !CallOnShortage()) return status;
  return TryExtend(reservation, bytes, what);
}

void MemoryBudget::set_on_shortage(std::function<void()> on_shortage) {
  MutexLock lock(&shortage_);
  on_shortage_ = std::move(on_shortage);
}

bool MemoryBudget::CallOnShortage() {
  MutexLock lock(&shortage_);
  if (on_shortage_ == nullptr) return false;
  on_shortage_();
  return true;
}

absl::Status MemoryBudget::TryExtend(MemoryReservation* reservation,
                                     std::uint64_t bytes,
                                     std::string_view what) {
  const std::uint64_t held = reservation->bytes();
  {
    MutexLock lock(&mutex_);
    if (bytes > limit_ - used_) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "no memory for ", absl::string_view(what.data(), what.size()),
          ": it needs ", MiB(SaturatedSum(held, bytes)),
          held > 0 ? " MiB or more, and " : " MiB, and ", (used_ - held) >> 20,
          " of ", limit_ >> 20, " MiB are in use (memory.limit)"));
    }
    used_ += bytes;
  }
  reservation->Add(MemoryReservation(this, bytes));
  return absl::OkStatus();
}

std::optional<MemoryReservation> MemoryBudget::ReserveSpare(
    std::uint64_t bytes) {
  std::optional<MemoryReservation> reserved = TryReserveSpare(bytes);
  if (reserved.has_value() || !CallOnShortage()) return reserved;
  return TryReserveSpare(bytes);
}

std::optional<MemoryReservation> MemoryBudget::TryReserveSpare(
    std::uint64_t bytes) {
  MutexLock lock(&mutex_);
  if (bytes > (limit_ - used_) / 2) return std::nullopt;
  used_ += bytes;
  return MemoryReservation(this, bytes);
}

std::uint64_t MemoryBudget::used() const {
  MutexLock lock(&mutex_);
  return used_;
}

void MemoryBudget::GiveBack(std::uint64_t bytes) {
  MutexLock lock(&mutex_);
  FOREBAY_CHECK(bytes <= used_);
  used_ -= bytes;
}

}  // namespace forebay::base

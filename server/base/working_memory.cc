#include "server/base/working_memory.h"

#include <malloc.h>

#include "server/base/check.h"

namespace forebay::base {
namespace {

// The reservation grows by at least this, so that the budget's mutex, which all
// threads share, is rarely taken.
constexpr std::uint64_t kStep = std::uint64_t{256} << 10;  // bytes

// Work that never needed this much leaves too little freed memory to be worth
// malloc_trim, which walks through all of malloc's arenas.
constexpr std::uint64_t kWorthTrimming = std::uint64_t{4} << 20;  // bytes

}  // namespace

WorkingMemory::~WorkingMemory() {
  MutexLock lock(&mutex_);
  if (largest_ >= kWorthTrimming) malloc_trim(0);
}

absl::Status WorkingMemory::Grow(std::uint64_t bytes) {
  MutexLock lock(&mutex_);
  return GrowLocked(bytes);
}

absl::Status WorkingMemory::GrowLocked(std::uint64_t bytes) {
  // A whole step is tried first, then only what is missing: near the limit, the
  // missing bytes may fit although a whole step does not.
  const std::uint64_t missing =
      bytes - std::min(bytes, reserved_.bytes() - needed_);
  if (missing > 0 &&
      !budget_->Extend(&reserved_, std::max(missing, kStep), what_).ok()) {
    absl::Status extended = budget_->Extend(&reserved_, missing, what_);
    if (!extended.ok()) return extended;
  }
  needed_ += bytes;
  largest_ = std::max(largest_, needed_);
  return absl::OkStatus();
}

void WorkingMemory::Shrink(std::uint64_t bytes) {
  MutexLock lock(&mutex_);
  FOREBAY_CHECK(bytes <= needed_);
  needed_ -= bytes;
}

absl::StatusOr<MemoryReservation> WorkingMemory::Keep(std::uint64_t bytes) {
  MutexLock lock(&mutex_);
  absl::Status grown = GrowLocked(bytes);
  if (!grown.ok()) return grown;
  needed_ -= bytes;
  return reserved_.Split(bytes);
}

}  // namespace forebay::base

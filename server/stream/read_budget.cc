#include "server/stream/read_budget.h"

#include <algorithm>
#include <utility>

#include "server/base/status.h"

namespace forebay::stream {

void ReadBudget::Close() {
  closed_ = true;
  window_ = least_;
  GiveBack();
}

absl::Status ReadBudget::Open() {
  // If bytes are still in flight, enough memory may still be reserved.
  if (reserved_.bytes() < least_) {
    FOREBAY_RETURN_IF_ERROR(budget_->Extend(
        &reserved_, least_ - reserved_.bytes(), "reads in flight"));
  }
  closed_ = false;
  return absl::OkStatus();
}

bool ReadBudget::Resize(std::uint64_t bytes) {
  if (closed_) return false;
  const std::uint64_t window = std::max(bytes, least_);
  if (window > reserved_.bytes()) {
    auto more = budget_->ReserveSpare(window - reserved_.bytes());
    if (!more.has_value()) return false;
    reserved_.Add(*std::move(more));
  }
  window_ = window;
  GiveBack();
  return true;
}

void ReadBudget::Leave(std::uint64_t bytes) {
  in_flight_ -= bytes;
  GiveBack();
}

void ReadBudget::GiveBack() {
  const std::uint64_t needed =
      closed_ ? in_flight_ : std::max(window_, in_flight_);
  if (needed < reserved_.bytes()) reserved_.ShrinkTo(needed);
}

}  // namespace forebay::stream

#include "server/stream/read_room.h"

#include <algorithm>
#include <utility>

namespace forebay::stream {

bool ReadRoom::Resize(std::uint64_t bytes) {
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

void ReadRoom::Leave(std::uint64_t bytes) {
  in_flight_ -= bytes;
  GiveBack();
}

void ReadRoom::GiveBack() {
  const std::uint64_t needed = std::max(window_, in_flight_);
  if (needed < reserved_.bytes()) reserved_.ShrinkTo(needed);
}

}  // namespace forebay::stream

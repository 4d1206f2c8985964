#include "server/cache/memory_ledger.h"

namespace forebay::cache {

Charge& Charge::operator=(Charge&& other) noexcept {
  if (this != &other) {
    Release();
    ledger_ = std::move(other.ledger_);
    bytes_ = other.bytes_;
  }
  return *this;
}

void Charge::Release() {
  if (ledger_ == nullptr) return;
  ledger_->used_ -= bytes_;
  ledger_ = nullptr;
}

std::optional<Charge> MemoryLedger::Take(std::uint64_t bytes) {
  std::uint64_t used = used_;
  do {
    if (bytes > capacity() - used) return std::nullopt;
  } while (!used_.compare_exchange_weak(used, used + bytes));
  return Charge(shared_from_this(), bytes);
}

}  // namespace forebay::cache

#ifndef FOREBAY_SERVER_CACHE_LEDGER_H_
#define FOREBAY_SERVER_CACHE_LEDGER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "server/base/memory_budget.h"

namespace forebay::cache {

class Ledger;

// Memory that is charged to a ledger until destruction. Keeps its ledger alive.
class Charge {
 public:
  Charge() = default;
  Charge(Charge&& other) noexcept = default;
  Charge& operator=(Charge&& other) noexcept;
  ~Charge() { Release(); }

  std::uint64_t bytes() const { return ledger_ == nullptr ? 0 : bytes_; }
  void Release();

 private:
  friend class Ledger;
  Charge(std::shared_ptr<Ledger> ledger, std::uint64_t bytes)
      : ledger_(std::move(ledger)), bytes_(bytes) {}

  std::shared_ptr<Ledger> ledger_;  // null: nothing is charged
  std::uint64_t bytes_ = 0;
};

// Counts the memory of the cache that is in use. Bytes count until their last
// reader releases them, also after the cache is gone.
//
// Thread-safe. Shared by the charges; the budget outlives them. Never blocks.
class Ledger : public std::enable_shared_from_this<Ledger> {
 public:
  explicit Ledger(base::MemoryReservation capacity)
      : reservation_(std::move(capacity)), capacity_(reservation_.bytes()) {}
  // Counts a part of what another ledger counts.
  explicit Ledger(std::uint64_t capacity) : capacity_(capacity) {}

  // Charges `bytes`. Returns nullopt if they exceed the capacity.
  std::optional<Charge> Take(std::uint64_t bytes);

  std::uint64_t capacity() const { return capacity_; }
  std::uint64_t used() const { return used_; }

 private:
  friend class Charge;

  const base::MemoryReservation reservation_;
  const std::uint64_t capacity_;
  std::atomic<std::uint64_t> used_ = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_LEDGER_H_

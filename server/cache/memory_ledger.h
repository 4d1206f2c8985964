#ifndef FOREBAY_SERVER_CACHE_MEMORY_LEDGER_H_
#define FOREBAY_SERVER_CACHE_MEMORY_LEDGER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "server/base/memory_budget.h"

namespace forebay::cache {

class MemoryLedger;

// Bytes of memory that are charged to a ledger until destruction.
//
// Not thread-safe: the owner of the memory owns the charge. The charge keeps
// its ledger alive. Never blocks. Has no errors.
class Charge {
 public:
  Charge() = default;
  Charge(Charge&& other) noexcept = default;
  Charge& operator=(Charge&& other) noexcept;
  ~Charge() { Release(); }

  std::uint64_t bytes() const { return ledger_ == nullptr ? 0 : bytes_; }
  // Ends the charge now.
  void Release();

 private:
  friend class MemoryLedger;
  Charge(std::shared_ptr<MemoryLedger> ledger, std::uint64_t bytes)
      : ledger_(std::move(ledger)), bytes_(bytes) {}

  std::shared_ptr<MemoryLedger> ledger_;  // null if nothing is charged
  std::uint64_t bytes_ = 0;
};

// Counts the bytes of the cache's memory that are in use, up to a capacity.
// Bytes count until their last reader releases them, even after the cache is
// gone.
//
// Thread-safe, by one atomic counter. Shared by the cache and the charges; the
// budget outlives them. Never blocks. Has no errors besides a full ledger.
class MemoryLedger : public std::enable_shared_from_this<MemoryLedger> {
 public:
  // Creates a ledger of memory that was reserved for it.
  explicit MemoryLedger(base::MemoryReservation capacity)
      : reservation_(std::move(capacity)), capacity_(reservation_.bytes()) {}
  // Creates a ledger of at most `capacity` bytes, for a part of the memory that
  // another ledger counts.
  explicit MemoryLedger(std::uint64_t capacity) : capacity_(capacity) {}

  // Charges `bytes`. Returns nullopt if the sum would exceed the capacity.
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

#endif  // FOREBAY_SERVER_CACHE_MEMORY_LEDGER_H_

#ifndef FOREBAY_SERVER_BASE_INDEX_LIST_H_
#define FOREBAY_SERVER_BASE_INDEX_LIST_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/base/sealed_memory.h"

namespace forebay::base {

// A client's list of sample numbers in a given order, in which a number may
// occur more than once. It finds the number at a position in O(1), and the
// positions of a number in about O(1).
//
// Immutable and thread-safe; shared by its users. Owns the memory that holds
// the numbers, and up to 8 more bytes for each number. Never blocks. Only
// Create has errors.
class IndexList {
 public:
  // The most numbers that a list may have: each position takes 32 bits.
  static constexpr std::uint64_t kMax = UINT32_MAX;

  // Creates the list of the little-endian 64-bit numbers in `numbers`. Takes
  // some 10 ns for each number. The budget outlives the list. INVALID_ARGUMENT:
  // the memory is not a list of at most kMax numbers, or a number is `bound` or
  // more. RESOURCE_EXHAUSTED: the budget has no room for the positions.
  // Messages begin with `what`, the list's name.
  static absl::StatusOr<std::shared_ptr<const IndexList>> Create(
      std::shared_ptr<const SealedMemory> numbers, std::uint64_t bound,
      MemoryBudget* budget, std::string_view what);

  std::uint64_t size() const { return memory_->bytes().size() / kBytesEach; }

  // Returns the number at `position`, which is less than size().
  std::uint64_t At(std::uint64_t position) const {
    std::uint64_t number;
    std::memcpy(&number, memory_->bytes().data() + position * kBytesEach,
                kBytesEach);
    return number;
  }

  // Returns the positions of a number, in ascending order.
  absl::Span<const std::uint32_t> PositionsOf(std::uint64_t number) const;
  // Returns the number's first position that is `from` or later; nullopt if
  // there is none.
  std::optional<std::uint64_t> PositionOf(std::uint64_t number,
                                          std::uint64_t from = 0) const;
  // Returns how often the number at `position` occurs at earlier positions.
  std::uint64_t RepeatsBefore(std::uint64_t position) const;

  // Returns the 64-bit XXH3 hash of the numbers in their order: equal lists
  // have equal digests.
  std::uint64_t digest() const { return digest_; }

 private:
  static constexpr std::uint64_t kBytesEach = 8;

  IndexList(std::shared_ptr<const SealedMemory> memory,
            MemoryReservation reservation)
      : memory_(std::move(memory)), reservation_(std::move(reservation)) {}

  // Fills `starts_` and `positions_` from the numbers, which are below `bound`.
  void TurnRound(std::uint64_t bound);

  const std::shared_ptr<const SealedMemory> memory_;
  const MemoryReservation reservation_;  // for starts_ and positions_
  std::uint64_t digest_ = 0;
  // All positions of the list, sorted by the number that stands at each. The
  // positions of one number ascend. Bucket b has the positions of the numbers n
  // with n >> shift_ == b: positions_[starts_[b]] to positions_[starts_[b + 1]
  // - 1].
  int shift_ = 0;
  std::vector<std::uint32_t> starts_;
  std::vector<std::uint32_t> positions_;
};

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_INDEX_LIST_H_

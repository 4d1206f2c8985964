#ifndef FOREBAY_TESTS_UNIT_SERVER_BASE_SEALED_NUMBERS_H_
#define FOREBAY_TESTS_UNIT_SERVER_BASE_SEALED_NUMBERS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "server/base/fd.h"
#include "server/base/index_list.h"
#include "server/base/memory_budget.h"

namespace forebay::base {

inline constexpr int kAllSeals = -1;

// Returns a memfd with these bytes and seals.
Fd Memfd(const void* data, std::size_t bytes, int seals = kAllSeals);

// Returns a descriptor of a list of samples, as a client sends it.
Fd SealedNumbers(const std::vector<std::uint64_t>& numbers);

// Returns the list of samples itself. All its numbers must be below `bound`.
std::shared_ptr<const IndexList> MakeList(
    const std::vector<std::uint64_t>& numbers, std::uint64_t bound,
    MemoryBudget* budget);

}  // namespace forebay::base

#endif  // FOREBAY_TESTS_UNIT_SERVER_BASE_SEALED_NUMBERS_H_

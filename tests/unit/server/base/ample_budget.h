#ifndef FOREBAY_TESTS_UNIT_SERVER_BASE_AMPLE_BUDGET_H_
#define FOREBAY_TESTS_UNIT_SERVER_BASE_AMPLE_BUDGET_H_

#include <cstdint>

#include "server/base/memory_budget.h"

namespace forebay::base {

// Returns a budget that no test can use up. It is never destroyed, so it
// outlives all reservations.
inline MemoryBudget* AmpleBudget() {
  static auto* const budget = new MemoryBudget(std::uint64_t{1} << 40);
  return budget;
}

}  // namespace forebay::base

#endif  // FOREBAY_TESTS_UNIT_SERVER_BASE_AMPLE_BUDGET_H_

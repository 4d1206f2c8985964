#include "tests/catch/results.h"

namespace forebay::tests {

std::vector<Result>& Results() {
  static auto* const results = new std::vector<Result>();
  return *results;
}

bool HasFailure() {
  return !Results().empty() && !Results().back().failures.empty();
}

}  // namespace forebay::tests

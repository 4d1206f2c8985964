#ifndef FOREBAY_TESTS_CATCH_RESULTS_H_
#define FOREBAY_TESTS_CATCH_RESULTS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace forebay::tests {

// A test case on one path through its sections.
struct Result {
  std::string name;
  std::string file;
  int line = 0;
  double seconds = 0;
  std::uint64_t assertions = 0;
  // Texts of the assertions that failed.
  std::vector<std::string> failures;
  // Why the case was skipped; empty if it was not.
  std::string skip_reason;
};

// Results of the process so far. The case of the last one may still run. Only
// the thread of the tests calls this function.
std::vector<Result>& Results();

// Whether an assertion of the case under way has failed.
bool HasFailure();

}  // namespace forebay::tests

#endif  // FOREBAY_TESTS_CATCH_RESULTS_H_

#include "tests/catch/skip.h"

#include "tests/catch/catch.h"
#include "tests/catch/own_thread.h"
#include "tests/catch/results.h"

namespace forebay::tests {

void Skip(const std::string& reason, const char* file, std::size_t line) {
  CheckOwnThread(file, line, "a SKIP");
  if (reason.empty()) FAIL("a SKIP without a reason");
  Results().back().skip_reason = reason;
  // For Catch2, this exception ends a case whose failure is already reported.
  throw Catch::TestFailureException();
}

}  // namespace forebay::tests

#include "tests/catch/skip.h"

#include "tests/catch/catch.h"
#include "tests/catch/results.h"

namespace forebay::tests {

void Skip(const std::string& reason) {
  Results().back().skip_reason = reason;
  // Catch2 takes it for the end of a case whose failure is reported already.
  throw Catch::TestFailureException();
}

}  // namespace forebay::tests

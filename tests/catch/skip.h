#ifndef FOREBAY_TESTS_CATCH_SKIP_H_
#define FOREBAY_TESTS_CATCH_SKIP_H_

#include <cstddef>
#include <sstream>
#include <string>

namespace forebay::tests {

// Ends the test case, on its present path through the sections, as skipped, or
// as failed if `reason` is empty. It throws. Only the test's own code may call
// it, on the test's thread. A callback that the product runs must not call it.
[[noreturn]] void Skip(const std::string& reason, const char* file,
                       std::size_t line);

}  // namespace forebay::tests

// Skips the test case. The arguments are the reason, written as to a stream:
// SKIP(a << b).
#define SKIP(...)                                                            \
  ::forebay::tests::Skip(                                                    \
      static_cast<std::ostringstream&&>(std::ostringstream() << __VA_ARGS__) \
          .str(),                                                            \
      __FILE__, __LINE__)

#endif  // FOREBAY_TESTS_CATCH_SKIP_H_

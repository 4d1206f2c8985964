#ifndef FOREBAY_TESTS_CATCH_CHILD_H_
#define FOREBAY_TESTS_CATCH_CHILD_H_

#include <functional>
#include <string>

namespace forebay::tests {

// How a child process ended.
struct [[nodiscard]] ChildEnd {
  // The status that waitpid() gave; 0 if the child exited with 0.
  int status = -1;
  // The text that the child wrote to stderr.
  std::string err;
};

// Runs `act` in a forked child and waits for its end. The child exits with 0,
// or with 1 if HoldsInChild() returns false. If the child exits by itself with
// 0, the test case fails, because the results of the child's assertions are
// unknown.
ChildEnd RunInChild(const std::function<void()>& act);

// Runs `act`, in a forked child that ends by _exit(). Lets no exception out.
// Returns false if an assertion failed, or `act` threw or skipped; the reason
// goes to stderr.
bool HoldsInChild(const std::function<void()>& act);

}  // namespace forebay::tests

#endif  // FOREBAY_TESTS_CATCH_CHILD_H_

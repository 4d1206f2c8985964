#ifndef FOREBAY_TESTS_CATCH_CHILD_H_
#define FOREBAY_TESTS_CATCH_CHILD_H_

#include <functional>
#include <string>

namespace forebay::tests {

// The end of a child process.
struct [[nodiscard]] ChildEnd {
  // The status that waitpid() gave; 0 if the child exited with 0.
  int status = -1;
  // The text that the child wrote to stderr.
  std::string err;
};

// Runs `act` in a forked child and waits for its end. The child exits with 0,
// or with 1 if HoldsInChild() returns false. A child that exits by itself with
// 0 fails the test case: nobody knows what its assertions found.
ChildEnd RunInChild(const std::function<void()>& act);

// Runs `act`, in a forked child that ends by _exit(). Lets no exception out.
// Returns false if an assertion failed, an exception left `act` or it skipped;
// the reason goes to stderr.
bool HoldsInChild(const std::function<void()>& act);

}  // namespace forebay::tests

#endif  // FOREBAY_TESTS_CATCH_CHILD_H_

#ifndef FOREBAY_TESTS_CATCH_CHILD_H_
#define FOREBAY_TESTS_CATCH_CHILD_H_

#include <functional>
#include <string>

namespace forebay::tests {

// How a child process ended.
struct ChildEnd {
  // The status of waitpid(); 0: the child exited with 0.
  int status = -1;
  // The text that it wrote to stderr.
  std::string err;
};

// Runs `act` in a forked child and waits for its end. The child exits with 1 if
// an assertion of its own failed, which it writes to stderr; else with 0.
ChildEnd RunInChild(const std::function<void()>& act);

}  // namespace forebay::tests

#endif  // FOREBAY_TESTS_CATCH_CHILD_H_

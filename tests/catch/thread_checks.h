#ifndef FOREBAY_TESTS_CATCH_THREAD_CHECKS_H_
#define FOREBAY_TESTS_CATCH_THREAD_CHECKS_H_

#include <iostream>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tests/catch/catch.h"

namespace forebay::tests {

// Collects checks that other threads than the test's own make. Catch2's
// assertions are not thread-safe, so the destructor asserts on the test's
// thread that all checks held. The object outlives every thread that checks.
class ThreadChecks {
 public:
  ThreadChecks() = default;
  ThreadChecks(const ThreadChecks&) = delete;
  ThreadChecks& operator=(const ThreadChecks&) = delete;
  ~ThreadChecks() {
    const std::lock_guard<std::mutex> lock(mutex_);
    CHECK_THAT(failures_, Catch::Equals(""));
  }

  // If `holds` is false, records `words`, which say what should have held. Any
  // thread may call it.
  void Check(bool holds, std::string_view words) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (holds) return;
    failures_.append(words).append("\n");
    // The words go to stderr now: the test may crash before the destructor
    // asserts.
    std::cerr << "on a thread: " << words << std::endl;
  }
  // Checks that the status is OK. Any thread may call it.
  void CheckOk(const absl::Status& status) {
    Check(status.ok(), status.ToString());
  }

 private:
  std::mutex mutex_;
  std::string failures_;
};

}  // namespace forebay::tests

#endif  // FOREBAY_TESTS_CATCH_THREAD_CHECKS_H_

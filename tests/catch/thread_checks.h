#ifndef FOREBAY_TESTS_CATCH_THREAD_CHECKS_H_
#define FOREBAY_TESTS_CATCH_THREAD_CHECKS_H_

#include <iostream>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tests/catch/catch.h"

namespace forebay::tests {

// Checks that threads make beside the test's own, as assertions of Catch2 are
// not thread-safe. The destructor asserts on the test's thread that all of them
// held; it outlives whatever still checks.
class ThreadChecks {
 public:
  ThreadChecks() = default;
  ThreadChecks(const ThreadChecks&) = delete;
  ThreadChecks& operator=(const ThreadChecks&) = delete;
  ~ThreadChecks() {
    const std::lock_guard<std::mutex> lock(mutex_);
    CHECK_THAT(failures_, Catch::Equals(""));
  }

  // Any thread: what has to hold, in words for the case that it does not.
  void Check(bool holds, std::string_view words) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (holds) return;
    failures_.append(words).append("\n");
    // The test may crash on what does not hold before the destructor asserts.
    std::cerr << "on a thread: " << words << std::endl;
  }
  // Any thread.
  void CheckOk(const absl::Status& status) {
    Check(status.ok(), status.ToString());
  }

 private:
  std::mutex mutex_;
  std::string failures_;
};

}  // namespace forebay::tests

#endif  // FOREBAY_TESTS_CATCH_THREAD_CHECKS_H_

#ifndef FOREBAY_TESTS_INTEGRATION_CPP_SET_AT_END_H_
#define FOREBAY_TESTS_INTEGRATION_CPP_SET_AT_END_H_

#include <atomic>

namespace cpp_user {

// At the end of its scope, even by an exception, sets a flag that another
// thread waits for. Without this the thread, and so the test, would wait for
// ever.
struct SetAtEnd {
  std::atomic<bool>& flag;

  ~SetAtEnd() { flag.store(true); }
};

}  // namespace cpp_user

#endif  // FOREBAY_TESTS_INTEGRATION_CPP_SET_AT_END_H_

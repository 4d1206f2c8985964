#ifndef FOREBAY_TESTS_CATCH_OWN_THREAD_H_
#define FOREBAY_TESTS_CATCH_OWN_THREAD_H_

#include <cstddef>

namespace forebay::tests {

// Whether the caller is the process that runs the tests, not a forked child.
bool InTestsProcess();

// Aborts, and names the place, unless the caller is the thread that runs the
// tests, here or in a forked child. Catch2 is not thread-safe.
void CheckOwnThread(const char* file, std::size_t line, const char* what);

}  // namespace forebay::tests

#endif  // FOREBAY_TESTS_CATCH_OWN_THREAD_H_

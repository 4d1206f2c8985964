#ifndef FOREBAY_TESTS_CATCH_TEMP_DIR_H_
#define FOREBAY_TESTS_CATCH_TEMP_DIR_H_

#include <cstdlib>
#include <string>

namespace forebay::tests {

// Returns the folder that Bazel gives to a test's run, or /tmp. The path ends
// in a slash.
inline std::string TempDir() {
  const char* const given = std::getenv("TEST_TMPDIR");
  return given == nullptr ? "/tmp/" : std::string(given) + "/";
}

}  // namespace forebay::tests

#endif  // FOREBAY_TESTS_CATCH_TEMP_DIR_H_

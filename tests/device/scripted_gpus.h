#ifndef FOREBAY_TESTS_DEVICE_SCRIPTED_GPUS_H_
#define FOREBAY_TESTS_DEVICE_SCRIPTED_GPUS_H_

#include <functional>
#include <string>

namespace forebay::device_tests {

// Runs `test` in a child process whose driver, the fake one, reads this script,
// JSON as fake_libcuda/script.h says. An expectation that fails in the child
// fails the test. No driver may have been loaded in this process. Blocks until
// the child has ended.
void WithGpus(const std::string& script, const std::function<void()>& test);

}  // namespace forebay::device_tests

#endif  // FOREBAY_TESTS_DEVICE_SCRIPTED_GPUS_H_

#ifndef FOREBAY_TESTS_DEVICE_SCRIPTED_GPUS_H_
#define FOREBAY_TESTS_DEVICE_SCRIPTED_GPUS_H_

#include <functional>
#include <string>

namespace forebay::device_tests {

// Runs `test` in a child process with the fake driver, which reads `script`.
// The script is JSON as in fake_libcuda/script.h. An expectation that fails in
// the child fails the test. This process must not have loaded a driver. Blocks
// until the child has ended.
void WithGpus(const std::string& script, const std::function<void()>& test);

}  // namespace forebay::device_tests

#endif  // FOREBAY_TESTS_DEVICE_SCRIPTED_GPUS_H_

#include "tests/device/scripted_gpus.h"

#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

namespace forebay::device_tests {

void WithGpus(const std::string& script, const std::function<void()>& test) {
  const std::string path =
      testing::TempDir() + "gpus-" + std::to_string(getpid()) + ".json";
  std::ofstream(path) << script;
  fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    setenv("FOREBAY_FAKE_CUDA", path.c_str(), /*overwrite=*/1);
    test();
    fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "in the child process, with " << script;
  unlink(path.c_str());
}

}  // namespace forebay::device_tests

#include "tests/device/scripted_gpus.h"

#include <stdlib.h>
#include <unistd.h>

#include <fstream>

#include "tests/catch/catch.h"
#include "tests/catch/child.h"
#include "tests/catch/temp_dir.h"

namespace forebay::device_tests {

void WithGpus(const std::string& script, const std::function<void()>& test) {
  const std::string path =
      tests::TempDir() + "gpus-" + std::to_string(getpid()) + ".json";
  std::ofstream(path) << script;
  const tests::ChildEnd child = tests::RunInChild([&] {
    setenv("FOREBAY_FAKE_CUDA", path.c_str(), /*overwrite=*/1);
    test();
  });
  INFO("with " << script << ": " << child.err);
  CHECK(child.status == 0);
  unlink(path.c_str());
}

}  // namespace forebay::device_tests

#include "server/daemon/gpus.h"

#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "cuda/fake_driver.h"
#include "tests/catch/catch.h"
#include "tests/catch/temp_dir.h"

namespace forebay::daemon {
namespace {

constexpr char kGood[] = "tests/unit/cuda/good_plugin.so";
constexpr char kFile[] = "/libforebay_cuda.so";

TEST_CASE("Nobody waits for the GPU driver while it opens", "[daemon][gpus]") {
  std::promise<void> answer;
  Gpus gpus([&] {
    answer.get_future().wait();
    return std::make_unique<cuda::FakeDriver>(3);
  });
  CHECK(gpus.inventory().devices.empty());
  CHECK(gpus.inventory().absence == "their driver has not answered yet");
  answer.set_value();
  while (gpus.inventory().devices.empty()) std::this_thread::yield();
  CHECK(gpus.inventory().devices.size() == 3);
  CHECK_THAT(gpus.inventory().absence, Catch::Equals(""));
}

TEST_CASE("The GPU inventory is destroyed only once the driver is open",
          "[daemon][gpus]") {
  bool open = false;
  {
    Gpus gpus([&] {
      open = true;
      return std::make_unique<cuda::FakeDriver>(1);
    });
  }
  CHECK(open);
}

class OpenGpuDriverTest {
 protected:
  OpenGpuDriverTest() {
    root_ = tests::TempDir() + "installed";
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ + "/bin");
    std::filesystem::create_directories(root_ + "/lib/forebay");
  }

  cuda::Inventory Open(const std::string& plugin) {
    return OpenGpuDriver(plugin, root_ + "/bin")->inventory();
  }

  std::string root_;
};

TEST_CASE_METHOD(OpenGpuDriverTest,
                 "The GPU plug-in setting none means that nothing is loaded",
                 "[daemon][gpus]") {
  std::filesystem::copy_file(kGood, root_ + "/bin" + kFile);
  CHECK(Open("none").absence == "the configuration wants none");
}

TEST_CASE_METHOD(OpenGpuDriverTest,
                 "Without a GPU plug-in the daemon has no GPU",
                 "[daemon][gpus]") {
  CHECK(Open("auto").absence == "no GPU plug-in is installed: " + root_ +
                                    "/lib/forebay" + kFile + " is not there");
  CHECK(Open("/nowhere/x.so").absence == "/nowhere/x.so is not there");
}

TEST_CASE_METHOD(OpenGpuDriverTest, "The daemon finds an installed GPU plug-in",
                 "[daemon][gpus]") {
  std::filesystem::copy_file(kGood, root_ + "/lib/forebay" + kFile);
  CHECK(Open("auto").devices.size() == 2);
  // The daemon prefers a plug-in beside its program to an installed one.
  std::ofstream(root_ + "/bin" + kFile) << "not a library";
  CHECK(Open("auto").absence ==
        root_ + "/bin" + kFile + " is not a shared library");
}

TEST_CASE_METHOD(OpenGpuDriverTest,
                 "The daemon takes the configured GPU plug-in",
                 "[daemon][gpus]") {
  CHECK(Open(std::filesystem::absolute(kGood)).devices.size() == 2);
  CHECK(Open(std::filesystem::absolute("tests/unit/cuda/refusing_plugin.so"))
            .absence == "the driver?is on holiday");
}

TEST_CASE("The program folder holds the running test program",
          "[daemon][gpus]") {
  CHECK(std::filesystem::exists(ProgramFolder() + "/gpus_test"));
}

}  // namespace
}  // namespace forebay::daemon

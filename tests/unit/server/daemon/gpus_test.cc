#include "server/daemon/gpus.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "cuda/fake_driver.h"

namespace forebay::daemon {
namespace {

constexpr char kGood[] = "tests/unit/cuda/good_plugin.so";
constexpr char kFile[] = "/libforebay_cuda.so";

TEST(GpusTest, NobodyWaitsForTheDriver) {
  std::promise<void> answer;
  Gpus gpus([&] {
    answer.get_future().wait();
    return std::make_unique<cuda::FakeDriver>(3);
  });
  EXPECT_TRUE(gpus.inventory().devices.empty());
  EXPECT_EQ(gpus.inventory().absence, "their driver has not answered yet");
  answer.set_value();
  while (gpus.inventory().devices.empty()) std::this_thread::yield();
  EXPECT_EQ(gpus.inventory().devices.size(), 3);
  EXPECT_EQ(gpus.inventory().absence, "");
}

TEST(GpusTest, GoesOnlyWhenTheDriverIsOpen) {
  bool open = false;
  {
    Gpus gpus([&] {
      open = true;
      return std::make_unique<cuda::FakeDriver>(1);
    });
  }
  EXPECT_TRUE(open);
}

class OpenGpuDriverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "installed";
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ + "/bin");
    std::filesystem::create_directories(root_ + "/lib/forebay");
  }

  cuda::Inventory Open(const std::string& plugin) {
    return OpenGpuDriver(plugin, root_ + "/bin")->inventory();
  }

  std::string root_;
};

TEST_F(OpenGpuDriverTest, NoneMeansThatNothingIsLoaded) {
  std::filesystem::copy_file(kGood, root_ + "/bin" + kFile);
  EXPECT_EQ(Open("none").absence, "the configuration wants none");
}

TEST_F(OpenGpuDriverTest, WithoutAPluginThereIsNoGpu) {
  EXPECT_EQ(Open("auto").absence, "no GPU plug-in is installed: " + root_ +
                                      "/lib/forebay" + kFile + " is not there");
  EXPECT_EQ(Open("/nowhere/x.so").absence, "/nowhere/x.so is not there");
}

TEST_F(OpenGpuDriverTest, AnInstalledPluginIsFound) {
  std::filesystem::copy_file(kGood, root_ + "/lib/forebay" + kFile);
  EXPECT_EQ(Open("auto").devices.size(), 2);
  // A plug-in beside the program comes before an installed one.
  std::ofstream(root_ + "/bin" + kFile) << "not a library";
  EXPECT_EQ(Open("auto").absence,
            root_ + "/bin" + kFile + " is no shared library");
}

TEST_F(OpenGpuDriverTest, AConfiguredPluginIsTaken) {
  EXPECT_EQ(Open(std::filesystem::absolute(kGood)).devices.size(), 2);
  EXPECT_EQ(
      Open(std::filesystem::absolute("tests/unit/cuda/refusing_plugin.so"))
          .absence,
      "the driver?is on holiday");
}

TEST(ProgramFolderTest, HoldsThisTest) {
  EXPECT_TRUE(std::filesystem::exists(ProgramFolder() + "/gpus_test"));
}

}  // namespace
}  // namespace forebay::daemon

#include "client/device/gpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "tests/unit/client/device/fake_plugin.h"

namespace forebay::client::device {
namespace {

using ::testing::ElementsAre;

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override { Told() = PluginScript(); }

  std::shared_ptr<Gpu> Open() {
    std::shared_ptr<Gpu> gpu;
    const Status status = Gpu::Open(kFakePlugin, 1, &gpu);
    EXPECT_TRUE(status.ok()) << status.message;
    return gpu;
  }
};

TEST_F(GpuTest, IsTheDeviceOfItsNumber) {
  auto gpu = Open();
  EXPECT_EQ(gpu->uuid(), "uuid 1");
  EXPECT_TRUE(gpu->has_tail());
  gpu.reset();
  EXPECT_THAT(Told().calls, ElementsAre("open 1", "close"));
}

TEST_F(GpuTest, ADeviceThatIsNotThereIsNamed) {
  std::shared_ptr<Gpu> gpu;
  for (const int ordinal : {-1, 2}) {
    const Status status = Gpu::Open(kFakePlugin, ordinal, &gpu);
    EXPECT_EQ(status.code, FOREBAY_INVALID_ARGUMENT);
    EXPECT_EQ(status.message, "there is no cuda:" + std::to_string(ordinal) +
                                  ": this process sees 2 of them");
  }
  EXPECT_THAT(Told().calls, ElementsAre());
}

TEST_F(GpuTest, AHostWithoutADriverSaysWhy) {
  Told().described = 1;
  std::shared_ptr<Gpu> gpu;
  const Status status = Gpu::Open(kFakePlugin, 0, &gpu);
  EXPECT_EQ(status.code, FOREBAY_INTERNAL);
  EXPECT_EQ(status.message, "the GPU is on holiday");
}

TEST_F(GpuTest, EachResultHasItsCode) {
  for (const auto& [result, code] :
       {std::pair(cuda::PluginResult::kNoMemory, FOREBAY_RESOURCE_EXHAUSTED),
        std::pair(cuda::PluginResult::kUnavailable,
                  FOREBAY_FAILED_PRECONDITION),
        std::pair(cuda::PluginResult::kFailed, FOREBAY_INTERNAL),
        std::pair(cuda::PluginResult::kLost, FOREBAY_INTERNAL)}) {
    Told().result = result;
    std::shared_ptr<Gpu> gpu;
    const Status status = Gpu::Open(kFakePlugin, 0, &gpu);
    EXPECT_EQ(status.code, code);
    EXPECT_EQ(status.message, "the GPU is on holiday");
    EXPECT_EQ(gpu, nullptr);
  }
  EXPECT_THAT(Told().calls,
              ElementsAre("open 0", "open 0", "open 0", "open 0"));
}

TEST_F(GpuTest, MemoryKeepsItsGpu) {
  auto gpu = Open();
  std::unique_ptr<ImportedMemory> memory;
  ASSERT_TRUE(gpu->Import(7, 500, &memory).ok());
  EXPECT_EQ(memory->address(), 7000);
  EXPECT_EQ(memory->bytes(), 500);
  gpu.reset();
  memory.reset();
  EXPECT_THAT(Told().calls, ElementsAre("open 1", "import 7 500",
                                        "unimport 7000 500", "close"));
}

TEST_F(GpuTest, AFailedImportIsNoMemory) {
  const auto gpu = Open();
  Told().result = cuda::PluginResult::kNoMemory;
  std::unique_ptr<ImportedMemory> memory;
  EXPECT_EQ(gpu->Import(7, 500, &memory).code, FOREBAY_RESOURCE_EXHAUSTED);
  EXPECT_EQ(memory, nullptr);
}

TEST_F(GpuTest, HandsWorkOn) {
  const auto gpu = Open();
  cuda::PluginTail tail = {};
  tail.element_bytes = 4;
  EXPECT_TRUE(gpu->RunTail(nullptr, tail, 1, 2, 3, 4).ok());
  EXPECT_TRUE(gpu->Copy(nullptr, 5, 6, 7).ok());
  bool called = false;
  EXPECT_TRUE(
      gpu->CallAfter(
             nullptr,
             [](void* argument) { *static_cast<bool*>(argument) = true; },
             &called)
          .ok());
  EXPECT_TRUE(called);
  Told().captures = 1;
  bool captures = false;
  EXPECT_TRUE(gpu->IsCapturing(nullptr, &captures).ok());
  EXPECT_TRUE(captures);
  EXPECT_THAT(Told().calls, ElementsAre("open 1", "tail 4 1 2 3 4",
                                        "copy 5 6 7", "call", "capturing"));
}

TEST_F(GpuTest, OnlyALossIsForGood) {
  const auto gpu = Open();
  EXPECT_TRUE(gpu->Poll().ok());
  Told().result = cuda::PluginResult::kFailed;
  EXPECT_EQ(gpu->Poll().code, FOREBAY_INTERNAL);
  EXPECT_FALSE(gpu->is_lost());
  Told().result = cuda::PluginResult::kLost;
  EXPECT_EQ(gpu->Poll().message, "the GPU is on holiday");
  EXPECT_TRUE(gpu->is_lost());
}

TEST_F(GpuTest, WordsThatAreTooLongAreCut) {
  Told().result = cuda::PluginResult::kFailed;
  Told().words = std::string(5000, 'x');
  std::shared_ptr<Gpu> gpu;
  EXPECT_EQ(Gpu::Open(kFakePlugin, 0, &gpu).message, std::string(1023, 'x'));
}

TEST_F(GpuTest, AForkedChildLeavesTheGpuAlone) {
  auto gpu = Open();
  std::unique_ptr<ImportedMemory> memory;
  ASSERT_TRUE(gpu->Import(7, 500, &memory).ok());
  const pid_t child = fork();
  if (child == 0) {
    EXPECT_EQ(gpu->Copy(nullptr, 5, 6, 7).code, FOREBAY_FORKED);
    EXPECT_EQ(gpu->Poll().code, FOREBAY_FORKED);
    EXPECT_FALSE(gpu->is_lost());
    gpu.reset();
    memory.reset();
    EXPECT_THAT(Told().calls, ElementsAre("open 1", "import 7 500"));
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace forebay::client::device

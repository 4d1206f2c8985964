// The plug-in beside a driver that fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "cuda/gpu.h"
#include "tests/device/plugin_on_driver.h"
#include "tests/device/scripted_gpus.h"

namespace forebay::cuda {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kPiece = std::uint64_t{2} << 20;
// A context, and ten pieces.
constexpr char kSmall[] =
    R"("context_bytes": 4194304, "gpus": [{"memory": 25165824}])";
constexpr int kPieces = 10;

// Runs `test(driver)` in a process whose GPU is small and has these faults.
void WithFaults(const std::string& faults,
                const std::function<void(Driver&)>& test) {
  device_tests::WithGpus(
      "{" + std::string(kSmall) + R"(, "faults": [)" + faults + "]}", [&] {
        const auto driver = device_tests::OpenPluginOnDriver();
        ASSERT_NE(driver, nullptr);
        test(*driver);
      });
}

// How many pieces a GPU has left.
int PiecesLeft(Gpu& gpu) {
  std::vector<std::unique_ptr<GpuMemory>> taken;
  while (true) {
    auto memory = gpu.Allocate(kPiece);
    if (!memory.ok()) {
      EXPECT_EQ(memory.status().code(), absl::StatusCode::kResourceExhausted)
          << memory.status();
      return static_cast<int>(taken.size());
    }
    taken.push_back(*std::move(memory));
  }
}

TEST(PluginFaultTest, AnAllocationThatFailsLeavesNothingBehind) {
  for (const char* const call :
       {"cuMemCreate", "cuMemExportToShareableHandle", "cuMemAddressReserve",
        "cuMemMap", "cuMemSetAccess", "cuMemRelease"}) {
    WithFaults(R"({"call": ")" + std::string(call) +
                   R"(", "error": "CUDA_ERROR_NOT_PERMITTED"})",
               [call](Driver& driver) {
                 const auto gpu = driver.Open(0);
                 ASSERT_TRUE(gpu.ok()) << gpu.status();
                 const absl::Status failed = (*gpu)->Allocate(kPiece).status();
                 EXPECT_EQ(failed.code(), absl::StatusCode::kInternal) << call;
                 EXPECT_THAT(std::string(failed.message()),
                             HasSubstr("CUDA_ERROR_NOT_PERMITTED"));
                 // cuMemRelease has not released its handle.
                 const int lost = call == std::string("cuMemRelease") ? 1 : 0;
                 EXPECT_EQ(PiecesLeft(**gpu), kPieces - lost) << call;
                 EXPECT_EQ(PiecesLeft(**gpu), kPieces - lost) << call;
               });
  }
}

TEST(PluginFaultTest, AContextThatFailsLeavesNothingBehind) {
  for (const char* const call :
       {"cuMemGetAllocationGranularity", "cuStreamCreateWithPriority",
        "cuCtxPushCurrent"}) {
    WithFaults(
        R"({"call": ")" + std::string(call) +
            R"(", "error": "CUDA_ERROR_NOT_PERMITTED"})",
        [call](Driver& driver) {
          EXPECT_EQ(driver.Open(0).status().code(), absl::StatusCode::kInternal)
              << call;
          const auto gpu = driver.Open(0);
          ASSERT_TRUE(gpu.ok()) << gpu.status();
          EXPECT_EQ(PiecesLeft(**gpu), kPieces) << call;
        });
  }
}

TEST(PluginFaultTest, AClosedGpuHasGivenBackItsContext) {
  WithFaults("", [](Driver& driver) {
    for (int i = 0; i < 20; ++i) {
      const auto gpu = driver.Open(0);
      ASSERT_TRUE(gpu.ok()) << gpu.status();
      EXPECT_EQ(PiecesLeft(**gpu), kPieces);
    }
  });
}

TEST(PluginFaultTest, SaysThatAGpuIsTakenOrFull) {
  device_tests::WithGpus(
      R"({"gpus": [{"compute_mode": "prohibited"},
                                      {"memory": 1000000}]})",
      [] {
        const auto driver = device_tests::OpenPluginOnDriver();
        ASSERT_NE(driver, nullptr);
        EXPECT_EQ(driver->Open(0).status(),
                  absl::UnavailableError("the driver gives no context "
                                         "(CUDA_ERROR_DEVICE_UNAVAILABLE: "
                                         "CUDA-capable device(s) is/are busy "
                                         "or unavailable)"));
        EXPECT_EQ(driver->Open(1).status().code(),
                  absl::StatusCode::kResourceExhausted);
      });
}

TEST(PluginFaultTest, ALostGpuSaysSoToEveryCall) {
  WithFaults(
      R"({"call": "copy", "first": 2, "error": "CUDA_ERROR_ECC_UNCORRECTABLE"})",
      [](Driver& driver) {
        auto gpu = driver.Open(0);
        ASSERT_TRUE(gpu.ok()) << gpu.status();
        auto memory = (*gpu)->Allocate(kPiece);
        ASSERT_TRUE(memory.ok()) << memory.status();
        std::vector<char> host(1000);
        ASSERT_EQ((*gpu)->Register(host.data(), host.size()), absl::OkStatus());
        const auto good = (*gpu)->StartCopy(**memory, 0, host.data(), 10);
        ASSERT_TRUE(good.ok());
        ASSERT_EQ((*gpu)->Wait(*good), absl::OkStatus());
        const auto bad = (*gpu)->StartCopy(**memory, 0, host.data(), 10);
        // It may have failed before its call returns.
        const absl::Status lost = bad.ok() ? (*gpu)->Wait(*bad) : bad.status();
        EXPECT_TRUE(absl::IsDataLoss(lost)) << lost;
        EXPECT_THAT(std::string(lost.message()),
                    HasSubstr("CUDA_ERROR_ECC_UNCORRECTABLE"));
        EXPECT_TRUE(absl::IsDataLoss((*gpu)->Wait(*good)));
        EXPECT_TRUE(absl::IsDataLoss((*gpu)->Allocate(kPiece).status()));
        EXPECT_TRUE(absl::IsDataLoss(
            (*gpu)->StartCopy(**memory, 0, host.data(), 10).status()));
        EXPECT_TRUE(
            absl::IsDataLoss((*gpu)->Read(**memory, 0, host.data(), 10)));
        EXPECT_TRUE(absl::IsDataLoss((*gpu)->Unregister(host.data())));
        memory->reset();
        gpu->reset();
        EXPECT_TRUE(absl::IsDataLoss(driver.Open(0).status()));
      });
}

TEST(PluginFaultTest, AGpuThatLeftTheBusIsLostAtEachStepOfACopy) {
  for (const char* const call :
       {"cuMemcpyHtoDAsync", "cuEventRecord", "cuEventSynchronize"}) {
    WithFaults(R"({"call": ")" + std::string(call) +
                   R"(", "times": 0, "error": "CUDA_ERROR_UNKNOWN"})",
               [call](Driver& driver) {
                 const auto gpu = driver.Open(0);
                 ASSERT_TRUE(gpu.ok()) << gpu.status();
                 const auto memory = (*gpu)->Allocate(kPiece);
                 ASSERT_TRUE(memory.ok()) << memory.status();
                 const std::vector<char> host(1000);
                 const auto copy =
                     (*gpu)->StartCopy(**memory, 0, host.data(), 10);
                 const absl::Status lost =
                     copy.ok() ? (*gpu)->Wait(*copy) : copy.status();
                 EXPECT_TRUE(absl::IsDataLoss(lost)) << call << ": " << lost;
               });
  }
}

}  // namespace
}  // namespace forebay::cuda

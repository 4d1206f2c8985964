// Tests of the plug-in with a driver that fails.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "cuda/gpu.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/device/plugin_on_driver.h"
#include "tests/device/scripted_gpus.h"

namespace forebay::cuda {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

constexpr std::uint64_t kPiece = std::uint64_t{2} << 20;
// The GPU has memory for a context and ten pieces.
constexpr char kSmall[] =
    R"("context_bytes": 4194304, "gpus": [{"memory": 25165824}])";
constexpr int kPieces = 10;

// Runs `test(driver)` in a process whose GPU is small and whose driver has
// `faults`.
void WithFaults(const std::string& faults,
                const std::function<void(Driver&)>& test) {
  device_tests::WithGpus(
      "{" + std::string(kSmall) + R"(, "faults": [)" + faults + "]}", [&] {
        const auto driver = device_tests::OpenPluginOnDriver();
        REQUIRE(driver != nullptr);
        test(*driver);
      });
}

// Returns how many more pieces of memory can be allocated on a GPU.
int PiecesLeft(Gpu& gpu) {
  std::vector<std::unique_ptr<GpuMemory>> taken;
  while (true) {
    auto memory = gpu.Allocate(kPiece);
    if (!memory.ok()) {
      CHECK_THAT(memory, HasCode(absl::StatusCode::kResourceExhausted));
      return static_cast<int>(taken.size());
    }
    taken.push_back(*std::move(memory));
  }
}

TEST_CASE("An allocation that fails in the GPU plug-in leaves nothing behind",
          "[device][plugin_fault]") {
  for (const char* const call :
       {"cuMemCreate", "cuMemExportToShareableHandle", "cuMemAddressReserve",
        "cuMemMap", "cuMemSetAccess", "cuMemRelease"}) {
    WithFaults(R"({"call": ")" + std::string(call) +
                   R"(", "error": "CUDA_ERROR_NOT_PERMITTED"})",
               [call](Driver& driver) {
                 const auto gpu = driver.Open(0);
                 REQUIRE_THAT(gpu, IsOk());
                 const absl::Status failed = (*gpu)->Allocate(kPiece).status();
                 CAPTURE(call);
                 CHECK_THAT(failed, HasCode(absl::StatusCode::kInternal));
                 CHECK_THAT(failed.message(),
                            Contains("CUDA_ERROR_NOT_PERMITTED"));
                 // A failed cuMemRelease has not released its handle's memory.
                 const int lost = call == std::string("cuMemRelease") ? 1 : 0;
                 CHECK(PiecesLeft(**gpu) == kPieces - lost);
                 CHECK(PiecesLeft(**gpu) == kPieces - lost);
               });
  }
}

TEST_CASE("A context that fails in the GPU plug-in leaves nothing behind",
          "[device][plugin_fault]") {
  for (const char* const call :
       {"cuMemGetAllocationGranularity", "cuStreamCreateWithPriority",
        "cuCtxPushCurrent"}) {
    WithFaults(R"({"call": ")" + std::string(call) +
                   R"(", "error": "CUDA_ERROR_NOT_PERMITTED"})",
               [call](Driver& driver) {
                 CAPTURE(call);
                 CHECK_THAT(driver.Open(0),
                            HasCode(absl::StatusCode::kInternal));
                 const auto gpu = driver.Open(0);
                 REQUIRE_THAT(gpu, IsOk());
                 CHECK(PiecesLeft(**gpu) == kPieces);
               });
  }
}

TEST_CASE("A GPU that the plug-in closed has given back its context",
          "[device][plugin_fault]") {
  WithFaults("", [](Driver& driver) {
    for (int i = 0; i < 20; ++i) {
      const auto gpu = driver.Open(0);
      REQUIRE_THAT(gpu, IsOk());
      CHECK(PiecesLeft(**gpu) == kPieces);
    }
  });
}

TEST_CASE("The GPU plug-in says that a GPU is taken or full",
          "[device][plugin_fault]") {
  device_tests::WithGpus(
      R"({"gpus": [{"compute_mode": "prohibited"},
                                      {"memory": 1000000}]})",
      [] {
        const auto driver = device_tests::OpenPluginOnDriver();
        REQUIRE(driver != nullptr);
        CHECK(driver->Open(0).status() ==
              absl::UnavailableError("the driver gives no context "
                                     "(CUDA_ERROR_DEVICE_UNAVAILABLE: "
                                     "CUDA-capable device(s) is/are busy "
                                     "or unavailable)"));
        CHECK_THAT(driver->Open(1),
                   HasCode(absl::StatusCode::kResourceExhausted));
      });
}

TEST_CASE("A lost GPU says so to every call of the plug-in",
          "[device][plugin_fault]") {
  WithFaults(
      R"({"call": "copy", "first": 2, "error": "CUDA_ERROR_ECC_UNCORRECTABLE"})",
      [](Driver& driver) {
        auto gpu = driver.Open(0);
        REQUIRE_THAT(gpu, IsOk());
        auto memory = (*gpu)->Allocate(kPiece);
        REQUIRE_THAT(memory, IsOk());
        std::vector<char> host(1000);
        REQUIRE_THAT((*gpu)->Register(host.data(), host.size()), IsOk());
        const auto good = (*gpu)->StartCopy(**memory, 0, host.data(), 10);
        REQUIRE_THAT(good, IsOk());
        REQUIRE_THAT((*gpu)->Wait(*good), IsOk());
        const auto bad = (*gpu)->StartCopy(**memory, 0, host.data(), 10);
        // The copy may have failed before the call that starts it returns.
        const absl::Status lost = bad.ok() ? (*gpu)->Wait(*bad) : bad.status();
        CHECK_THAT(lost, HasCode(absl::StatusCode::kDataLoss));
        CHECK_THAT(lost.message(), Contains("CUDA_ERROR_ECC_UNCORRECTABLE"));
        CHECK_THAT((*gpu)->Wait(*good), HasCode(absl::StatusCode::kDataLoss));
        CHECK_THAT((*gpu)->Allocate(kPiece),
                   HasCode(absl::StatusCode::kDataLoss));
        CHECK_THAT((*gpu)->StartCopy(**memory, 0, host.data(), 10),
                   HasCode(absl::StatusCode::kDataLoss));
        CHECK_THAT((*gpu)->Read(**memory, 0, host.data(), 10),
                   HasCode(absl::StatusCode::kDataLoss));
        CHECK_THAT((*gpu)->Unregister(host.data()),
                   HasCode(absl::StatusCode::kDataLoss));
        memory->reset();
        gpu->reset();
        CHECK_THAT(driver.Open(0), HasCode(absl::StatusCode::kDataLoss));
      });
}

TEST_CASE("A GPU that left the bus is lost at each step of a copy",
          "[device][plugin_fault]") {
  for (const char* const call :
       {"cuMemcpyHtoDAsync", "cuEventRecord", "cuEventSynchronize"}) {
    WithFaults(R"({"call": ")" + std::string(call) +
                   R"(", "times": 0, "error": "CUDA_ERROR_UNKNOWN"})",
               [call](Driver& driver) {
                 const auto gpu = driver.Open(0);
                 REQUIRE_THAT(gpu, IsOk());
                 const auto memory = (*gpu)->Allocate(kPiece);
                 REQUIRE_THAT(memory, IsOk());
                 const std::vector<char> host(1000);
                 const auto copy =
                     (*gpu)->StartCopy(**memory, 0, host.data(), 10);
                 const absl::Status lost =
                     copy.ok() ? (*gpu)->Wait(*copy) : copy.status();
                 UNSCOPED_INFO(call << ": " << lost);
                 CHECK_THAT(lost, HasCode(absl::StatusCode::kDataLoss));
               });
  }
}

}  // namespace
}  // namespace forebay::cuda

// Tests of the plug-in's trainer half with a driver that fails.
#include <cuda.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/child.h"
#include "tests/catch/matchers.h"
#include "tests/device/device_fixture.h"
#include "tests/device/plugin_on_driver.h"
#include "tests/device/scripted_gpus.h"
#include "tests/device/trainer_fixture.h"

namespace forebay::device_tests {
namespace {

using tests::Contains;

using cuda::PluginResult;

std::string Fault(const std::string& call, const std::string& error, int first,
                  int times) {
  return R"({"call": ")" + call + R"(", "error": "CUDA_ERROR_)" + error +
         R"(", "first": )" + std::to_string(first) + R"(, "times": )" +
         std::to_string(times) + "}";
}

// Runs `test` in a process whose driver's function `call` fails with `error`.
void WithFault(const std::string& call, const std::string& error, int first,
               int times, const std::function<void()>& test) {
  WithGpus(R"({"faults": [)" + Fault(call, error, first, times) + "]}", test);
}

PluginResult Import(const Trainer& trainer, const Exported& memory,
                    std::string* words) {
  Words why;
  std::uint64_t address = 0;
  const PluginResult result = trainer.calls().import_memory(
      trainer.gpu(), memory.fd.get(), memory.bytes, &address, why);
  *words = why.said();
  return result;
}

// Runs a tail that makes uint8 elements from 64 pixels.
PluginResult RunTail(const Trainer& trainer, std::uint64_t from,
                     std::uint64_t to, std::string* words) {
  cuda::PluginTail tail = {};
  tail.element_bytes = 1;
  tail.colors = 3;
  Words why;
  const PluginResult result = trainer.calls().run_tail(
      trainer.gpu(), trainer.stream(), &tail, from, to, 1, 64, why);
  *words = why.said();
  return result;
}

TEST_CASE("An import of GPU memory that fails leaves nothing behind",
          "[device][trainer_gpu_fault]") {
  struct Case {
    const char* call;
    // Numbers of the failing calls. The export has already made one of each
    // call, except the import.
    int first, times;
  };
  for (const Case& one : std::vector<Case>{
           {"cuMemImportFromShareableHandle", 1, 1},
           {"cuMemAddressReserve", 2, 1},
           {"cuMemMap", 2, 1},
           {"cuMemSetAccess", 2, 2},
       }) {
    WithFault(one.call, "NOT_PERMITTED", one.first, one.times, [] {
      const Trainer trainer;
      const std::size_t before = trainer.FreeMemory();
      Exported memory = Export(Numbers(1000));
      std::string words;
      CHECK(Import(trainer, memory, &words) == PluginResult::kFailed);
      CHECK(words ==
            "the daemon's memory of the GPU cannot be imported "
            "(CUDA_ERROR_NOT_PERMITTED: operation not permitted)");
      CHECK(Import(trainer, Export(Numbers(1000)), &words) ==
            PluginResult::kOk);
      memory.fd.Close();
      CHECK(trainer.FreeMemory() < before);
      CHECK(trainer.FreeMemory() >= before - memory.bytes);
    });
  }
}

TEST_CASE("The plug-in undoes an import of GPU memory whose handle stays",
          "[device][trainer_gpu_fault]") {
  WithFault("cuMemRelease", "NOT_PERMITTED", 2, 1, [] {
    const Trainer trainer;
    std::string words;
    CHECK(Import(trainer, Export(Numbers(1000)), &words) ==
          PluginResult::kFailed);
    CHECK(trainer.Poll() == PluginResult::kOk);
  });
}

TEST_CASE("Imported GPU memory is for reading only",
          "[device][trainer_gpu_fault]") {
  WithGpus("{}", [] {
    const Trainer trainer;
    const std::uint64_t address = trainer.Import(Export(Numbers(192)));
    std::string words;
    REQUIRE(RunTail(trainer, address, address, &words) == PluginResult::kOk);
    FOREBAY_CHECK_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS,
                       Api().synchronize_stream(trainer.stream()));
    CHECK(trainer.Poll() == PluginResult::kLost);
  });
}

TEST_CASE(
    "A driver without read-only memory gives write access to imported memory",
    "[device][trainer_gpu_fault]") {
  WithFault("cuMemSetAccess", "NOT_SUPPORTED", 2, 1, [] {
    const Trainer trainer;
    const std::uint64_t address = trainer.Import(Export(Numbers(192)));
    CHECK(trainer.Read(address, 192) == Numbers(192));
    std::string words;
    REQUIRE(RunTail(trainer, address, address, &words) == PluginResult::kOk);
    FOREBAY_CHECK_CUDA(CUDA_SUCCESS,
                       Api().synchronize_stream(trainer.stream()));
    CHECK(trainer.Poll() == PluginResult::kOk);
  });
}

TEST_CASE("A kernel and a copy that the driver refuses say so to the trainer",
          "[device][trainer_gpu_fault]") {
  WithGpus(
      R"({"faults": [)" +
          Fault("cuLaunchKernel", "LAUNCH_OUT_OF_RESOURCES", 1, 1) + "," +
          Fault("cuMemcpyDtoDAsync", "INVALID_VALUE", 1, 1) + "]}",
      [] {
        const Trainer trainer;
        const std::uint64_t memory = trainer.Allocate(192);
        std::string words;
        CHECK(RunTail(trainer, memory, memory, &words) ==
              PluginResult::kFailed);
        CHECK_THAT(words, Contains("LAUNCH_OUT_OF_RESOURCES"));
        CHECK(RunTail(trainer, memory, memory, &words) == PluginResult::kOk);
        Words why;
        CHECK(trainer.calls().copy(trainer.gpu(), trainer.stream(), memory,
                                   memory + 96, 96,
                                   why) == PluginResult::kFailed);
        CHECK_THAT(why.said(), Contains("INVALID_VALUE"));
        CHECK(trainer.Poll() == PluginResult::kOk);
      });
}

TEST_CASE("A callback that the plug-in cannot queue on a stream never comes",
          "[device][trainer_gpu_fault]") {
  for (const char* const call : {"cuStreamIsCapturing", "cuEventRecord",
                                 "cuStreamWaitEvent", "cuLaunchHostFunc"}) {
    WithFault(call, "NOT_SUPPORTED", 1, 1, [call] {
      const Trainer trainer;
      int first = 0, second = 0;
      std::function<void()> never = [&] { ++first; };
      std::function<void()> once = [&] { ++second; };
      Words why;
      CAPTURE(call);
      CHECK(trainer.CallAfter(&never, why) == PluginResult::kFailed);
      CHECK_THAT(why.said(), Contains("CUDA_ERROR_NOT_SUPPORTED"));
      FOREBAY_CHECK_OK(why, trainer.CallAfter(&once, why));
      trainer.Finish();
      CHECK(first == 0);
      CHECK(second == 1);
    });
  }
}

TEST_CASE("Callbacks behind an error of the trainer's GPU never come",
          "[device][trainer_gpu_fault]") {
  WithFault("kernel", "ECC_UNCORRECTABLE", 1, 1, [] {
    const Trainer trainer;
    const std::uint64_t memory = trainer.Allocate(192);
    std::promise<void> stream_may_go;
    std::atomic<int> calls{0};
    std::function<void()> gate = [&] { stream_may_go.get_future().wait(); };
    std::function<void()> call = [&] { ++calls; };
    std::string words;
    trainer.QueueOnHost(&gate);
    REQUIRE(RunTail(trainer, memory, memory, &words) == PluginResult::kOk);
    Words why;
    FOREBAY_CHECK_OK(why, trainer.CallAfter(&call, why));
    CHECK(trainer.Poll() == PluginResult::kOk);
    stream_may_go.set_value();
    while (trainer.Poll() == PluginResult::kOk) std::this_thread::yield();
    CHECK(trainer.calls().poll(trainer.gpu(), why) == PluginResult::kLost);
    CHECK(why.said() ==
          "the GPU is lost to this process (CUDA_ERROR_ECC_UNCORRECTABLE: "
          "uncorrectable ECC error encountered)");
    // All other calls fail in the same way.
    CHECK(trainer.CallAfter(&call, why) == PluginResult::kLost);
    CHECK(RunTail(trainer, memory, memory, &words) == PluginResult::kLost);
    CHECK(Import(trainer, {proto::Fd(memfd_create("m", 0)), 1}, &words) ==
          PluginResult::kLost);
    cuda::PluginTrainerGpu* gpu = nullptr;
    CHECK(trainer.calls().open(0, &gpu, why) == PluginResult::kLost);
    CHECK(calls == 0);
  });
}

TEST_CASE("No callback runs once the loss of the trainer's GPU is known",
          "[device][trainer_gpu_fault]") {
  WithFault("kernel", "LAUNCH_FAILED", 1, 1, [] {
    const Trainer trainer;
    const std::uint64_t memory = trainer.Allocate(192);
    std::promise<void> began, may_end;
    std::atomic<bool> ended{false};
    std::atomic<int> later{0};
    std::function<void()> first = [&] {
      began.set_value();
      may_end.get_future().wait();
      ended = true;
    };
    std::function<void()> second = [&] { ++later; };
    Words why;
    std::string words;
    FOREBAY_CHECK_OK(why, trainer.CallAfter(&first, why));
    FOREBAY_CHECK_OK(why, trainer.CallAfter(&second, why));
    began.get_future().wait();
    REQUIRE(RunTail(trainer, memory, memory, &words) == PluginResult::kOk);
    CHECK(Api().synchronize_stream(trainer.stream()) ==
          CUDA_ERROR_LAUNCH_FAILED);
    auto polled = std::async(std::launch::async, [&] {
      const PluginResult result = trainer.Poll();
      return result == PluginResult::kLost && ended;
    });
    may_end.set_value();
    CHECK(polled.get());
    CHECK(later == 0);
  });
}

TEST_CASE("A trainer's GPU that the kernels are not for has no tail",
          "[device][trainer_gpu_fault]") {
  const std::vector<std::string> scripts = {
      R"({"gpus": [{"major": 6, "minor": 1}]})",
      R"({"faults": [)" +
          Fault("cuModuleLoadData", "UNSUPPORTED_PTX_VERSION", 1, 1) + "]}",
      R"({"faults": [)" + Fault("cuModuleGetFunction", "NOT_FOUND", 1, 1) +
          "]}",
  };
  for (const std::string& script : scripts) {
    WithGpus(script, [] {
      const Trainer trainer;
      CHECK(trainer.calls().has_tail(trainer.gpu()) == 0);
      const std::uint64_t from = trainer.Import(Export(Numbers(192)));
      const std::uint64_t to = trainer.Allocate(192);
      std::string words;
      CHECK(RunTail(trainer, from, to, &words) == PluginResult::kFailed);
      CHECK_THAT(words,
                 Contains("this GPU cannot run the kernels (CUDA_ERROR_"));
      // Calls other than RunTail work.
      Words why;
      FOREBAY_CHECK_OK(
          why, trainer.calls().copy(trainer.gpu(), trainer.stream(), from, to,
                                    192, why));
      CHECK(trainer.Read(to, 192) == Numbers(192));
    });
  }
}

// Whether this process has a primary context of the first GPU.
bool HasContext() {
  auto* const state = FindInDriver<decltype(cuDevicePrimaryCtxGetState)>(
      "cuDevicePrimaryCtxGetState");
  unsigned flags = 0;
  int active = -1;
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, state(0, &flags, &active));
  return active != 0;
}

TEST_CASE("The plug-in leaves a trainer's GPU alone that it cannot open",
          "[device][trainer_gpu_fault]") {
  struct Case {
    const char* call;
    const char* error;
    PluginResult result;
  };
  for (const Case& one : std::vector<Case>{
           {"cuDevicePrimaryCtxRetain", "DEVICE_UNAVAILABLE",
            PluginResult::kUnavailable},
           {"cuDevicePrimaryCtxRetain", "OUT_OF_MEMORY",
            PluginResult::kNoMemory},
           {"cuCtxPushCurrent", "NOT_SUPPORTED", PluginResult::kFailed},
           {"cuMemGetAllocationGranularity", "NOT_SUPPORTED",
            PluginResult::kFailed},
           {"cuDeviceGetAttribute", "INVALID_VALUE", PluginResult::kFailed},
           {"cuStreamCreateWithPriority", "OUT_OF_MEMORY",
            PluginResult::kNoMemory},
           {"cuEventCreate", "OUT_OF_MEMORY", PluginResult::kNoMemory},
           {"cuModuleLoadData", "OUT_OF_MEMORY", PluginResult::kNoMemory},
       }) {
    WithFault(one.call, one.error, 1, 1, [&one] {
      const cuda::PluginTrainerCalls& calls = PluginOnDriver().trainer;
      Words why;
      cuda::PluginTrainerGpu* gpu = nullptr;
      CAPTURE(one.call);
      CHECK(calls.open(0, &gpu, why) == one.result);
      CHECK_THAT(why.said(), Contains("the driver gives no context (CUDA_"));
      CHECK(gpu == nullptr);
      CHECK_FALSE(HasContext());
      FOREBAY_CHECK_OK(why, calls.open(0, &gpu, why));
      CHECK(calls.has_tail(gpu) == 1);
      CHECK(HasContext());
    });
  }
}

TEST_CASE("A trainer's GPU context that was reset is lost and made anew",
          "[device][trainer_gpu_fault]") {
  WithGpus("{}", [] {
    const Trainer trainer;
    while (HasContext()) FOREBAY_REQUIRE_CUDA(Api().release_context(0));
    CHECK(trainer.Poll() == PluginResult::kLost);
    Words why;
    cuda::PluginTrainerGpu* gpu = nullptr;
    FOREBAY_CHECK_OK(why, trainer.calls().open(0, &gpu, why));
    FOREBAY_CHECK_OK(why, trainer.calls().poll(gpu, why));
    CHECK(trainer.Poll() == PluginResult::kLost);
  });
}

TEST_CASE("What the driver does not tell is not a loss of the trainer's GPU",
          "[device][trainer_gpu_fault]") {
  WithFault("cuStreamQuery", "SYSTEM_NOT_READY", 1, 1, [] {
    const Trainer trainer;
    CHECK(trainer.Poll() == PluginResult::kFailed);
    CHECK(trainer.Poll() == PluginResult::kOk);
  });
}

TEST_CASE("What the driver does not tell opens no second trainer's GPU",
          "[device][trainer_gpu_fault]") {
  WithFault("cuStreamQuery", "SYSTEM_NOT_READY", 1, 1, [] {
    const Trainer trainer;
    Words why;
    cuda::PluginTrainerGpu* gpu = nullptr;
    CHECK(trainer.calls().open(0, &gpu, why) == PluginResult::kFailed);
    CHECK_THAT(why.said(), Contains("CUDA_ERROR_SYSTEM_NOT_READY"));
    FOREBAY_CHECK_OK(why, trainer.calls().open(0, &gpu, why));
    CHECK(gpu == trainer.gpu());
  });
}

TEST_CASE("A trainer's default stream beside a capture counts as captured",
          "[device][trainer_gpu_fault]") {
  WithFault("cuStreamIsCapturing", "STREAM_CAPTURE_IMPLICIT", 1, 1, [] {
    const Trainer trainer;
    Words why;
    std::int32_t captures = 0;
    FOREBAY_CHECK_OK(why, trainer.calls().is_capturing(trainer.gpu(), nullptr,
                                                       &captures, why));
    CHECK(captures == 1);
  });
}

TEST_CASE("The plug-in tells a forked child of a trainer that it has no driver",
          "[device][trainer_gpu_fault]") {
  WithGpus("{}", [] {
    const Trainer trainer;
    const tests::ChildEnd child = tests::RunInChild([&] {
      Words why;
      cuda::PluginTrainerGpu* gpu = nullptr;
      CHECK(trainer.calls().open(0, &gpu, why) == PluginResult::kFailed);
      CHECK_THAT(why.said(), Contains("CUDA_ERROR_NOT_INITIALIZED"));
    });
    INFO(child.err);
    CHECK(child.status == 0);
  });
}

}  // namespace
}  // namespace forebay::device_tests

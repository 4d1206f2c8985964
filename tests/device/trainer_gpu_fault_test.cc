// The plug-in's trainer half beside a driver that fails.
#include <cuda.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
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

#include "tests/device/device_fixture.h"
#include "tests/device/plugin_on_driver.h"
#include "tests/device/scripted_gpus.h"
#include "tests/device/trainer_fixture.h"

namespace forebay::device_tests {
namespace {

using cuda::PluginResult;
using ::testing::HasSubstr;

std::string Fault(const std::string& call, const std::string& error, int first,
                  int times) {
  return R"({"call": ")" + call + R"(", "error": "CUDA_ERROR_)" + error +
         R"(", "first": )" + std::to_string(first) + R"(, "times": )" +
         std::to_string(times) + "}";
}

// Runs `test` in a process whose driver fails so.
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

// A tail that makes bytes of 64 pixels.
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

TEST(TrainerGpuFaultTest, AnImportThatFailsLeavesNothingBehind) {
  struct Case {
    const char* call;
    int first, times;  // the export has made the same calls, but for importing
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
      EXPECT_EQ(Import(trainer, memory, &words), PluginResult::kFailed);
      EXPECT_EQ(words,
                "the daemon's memory of the GPU cannot be imported "
                "(CUDA_ERROR_NOT_PERMITTED: operation not permitted)");
      EXPECT_EQ(Import(trainer, Export(Numbers(1000)), &words),
                PluginResult::kOk);
      memory.fd.Close();
      EXPECT_LT(trainer.FreeMemory(), before);
      EXPECT_GE(trainer.FreeMemory(), before - memory.bytes);
    });
  }
}

TEST(TrainerGpuFaultTest, AnImportWhoseHandleStaysIsUndone) {
  WithFault("cuMemRelease", "NOT_PERMITTED", 2, 1, [] {
    const Trainer trainer;
    std::string words;
    EXPECT_EQ(Import(trainer, Export(Numbers(1000)), &words),
              PluginResult::kFailed);
    EXPECT_EQ(trainer.Poll(), PluginResult::kOk);
  });
}

TEST(TrainerGpuFaultTest, ImportedMemoryIsForReadingOnly) {
  WithGpus("{}", [] {
    const Trainer trainer;
    const std::uint64_t address = trainer.Import(Export(Numbers(192)));
    std::string words;
    ASSERT_EQ(RunTail(trainer, address, address, &words), PluginResult::kOk);
    FOREBAY_EXPECT_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS,
                        Api().synchronize_stream(trainer.stream()));
    EXPECT_EQ(trainer.Poll(), PluginResult::kLost);
  });
}

TEST(TrainerGpuFaultTest, ADriverWithoutReadOnlyMemoryGivesMore) {
  WithFault("cuMemSetAccess", "NOT_SUPPORTED", 2, 1, [] {
    const Trainer trainer;
    const std::uint64_t address = trainer.Import(Export(Numbers(192)));
    EXPECT_EQ(trainer.Read(address, 192), Numbers(192));
    std::string words;
    ASSERT_EQ(RunTail(trainer, address, address, &words), PluginResult::kOk);
    FOREBAY_EXPECT_CUDA(CUDA_SUCCESS,
                        Api().synchronize_stream(trainer.stream()));
    EXPECT_EQ(trainer.Poll(), PluginResult::kOk);
  });
}

TEST(TrainerGpuFaultTest, AKernelAndACopyThatAreRefusedSaySo) {
  WithGpus(R"({"faults": [)" +
               Fault("cuLaunchKernel", "LAUNCH_OUT_OF_RESOURCES", 1, 1) + "," +
               Fault("cuMemcpyDtoDAsync", "INVALID_VALUE", 1, 1) + "]}",
           [] {
             const Trainer trainer;
             const std::uint64_t memory = trainer.Allocate(192);
             std::string words;
             EXPECT_EQ(RunTail(trainer, memory, memory, &words),
                       PluginResult::kFailed);
             EXPECT_THAT(words, HasSubstr("LAUNCH_OUT_OF_RESOURCES"));
             EXPECT_EQ(RunTail(trainer, memory, memory, &words),
                       PluginResult::kOk);
             Words why;
             EXPECT_EQ(trainer.calls().copy(trainer.gpu(), trainer.stream(),
                                            memory, memory + 96, 96, why),
                       PluginResult::kFailed);
             EXPECT_THAT(why.said(), HasSubstr("INVALID_VALUE"));
             EXPECT_EQ(trainer.Poll(), PluginResult::kOk);
           });
}

TEST(TrainerGpuFaultTest, ACallThatCannotBeQueuedNeverComes) {
  for (const char* const call : {"cuStreamIsCapturing", "cuEventRecord",
                                 "cuStreamWaitEvent", "cuLaunchHostFunc"}) {
    WithFault(call, "NOT_SUPPORTED", 1, 1, [call] {
      const Trainer trainer;
      int first = 0, second = 0;
      std::function<void()> never = [&] { ++first; };
      std::function<void()> once = [&] { ++second; };
      Words why;
      EXPECT_EQ(trainer.CallAfter(&never, why), PluginResult::kFailed) << call;
      EXPECT_THAT(why.said(), HasSubstr("CUDA_ERROR_NOT_SUPPORTED"));
      FOREBAY_EXPECT_OK(why, trainer.CallAfter(&once, why));
      trainer.Finish();
      EXPECT_EQ(first, 0) << call;
      EXPECT_EQ(second, 1) << call;
    });
  }
}

TEST(TrainerGpuFaultTest, CallsBehindAnErrorOfTheGpuNeverCome) {
  WithFault("kernel", "ECC_UNCORRECTABLE", 1, 1, [] {
    const Trainer trainer;
    const std::uint64_t memory = trainer.Allocate(192);
    std::promise<void> stream_may_go;
    std::atomic<int> calls{0};
    std::function<void()> gate = [&] { stream_may_go.get_future().wait(); };
    std::function<void()> call = [&] { ++calls; };
    std::string words;
    trainer.QueueOnHost(&gate);
    ASSERT_EQ(RunTail(trainer, memory, memory, &words), PluginResult::kOk);
    Words why;
    FOREBAY_EXPECT_OK(why, trainer.CallAfter(&call, why));
    EXPECT_EQ(trainer.Poll(), PluginResult::kOk);
    stream_may_go.set_value();
    while (trainer.Poll() == PluginResult::kOk) std::this_thread::yield();
    EXPECT_EQ(trainer.calls().poll(trainer.gpu(), why), PluginResult::kLost);
    EXPECT_EQ(why.said(),
              "the GPU is lost to this process (CUDA_ERROR_ECC_UNCORRECTABLE: "
              "uncorrectable ECC error encountered)");
    // All else fails so.
    EXPECT_EQ(trainer.CallAfter(&call, why), PluginResult::kLost);
    EXPECT_EQ(RunTail(trainer, memory, memory, &words), PluginResult::kLost);
    EXPECT_EQ(Import(trainer, {proto::Fd(memfd_create("m", 0)), 1}, &words),
              PluginResult::kLost);
    cuda::PluginTrainerGpu* gpu = nullptr;
    EXPECT_EQ(trainer.calls().open(0, &gpu, why), PluginResult::kLost);
    EXPECT_EQ(calls, 0);
  });
}

TEST(TrainerGpuFaultTest, NoCallRunsOnceTheLossIsKnown) {
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
    FOREBAY_EXPECT_OK(why, trainer.CallAfter(&first, why));
    FOREBAY_EXPECT_OK(why, trainer.CallAfter(&second, why));
    began.get_future().wait();
    ASSERT_EQ(RunTail(trainer, memory, memory, &words), PluginResult::kOk);
    EXPECT_EQ(Api().synchronize_stream(trainer.stream()),
              CUDA_ERROR_LAUNCH_FAILED);
    auto polled = std::async(std::launch::async, [&] {
      const PluginResult result = trainer.Poll();
      return result == PluginResult::kLost && ended;
    });
    may_end.set_value();
    EXPECT_TRUE(polled.get());
    EXPECT_EQ(later, 0);
  });
}

TEST(TrainerGpuFaultTest, AGpuThatTheKernelsAreNotForHasNoTail) {
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
      EXPECT_EQ(trainer.calls().has_tail(trainer.gpu()), 0);
      const std::uint64_t from = trainer.Import(Export(Numbers(192)));
      const std::uint64_t to = trainer.Allocate(192);
      std::string words;
      EXPECT_EQ(RunTail(trainer, from, to, &words), PluginResult::kFailed);
      EXPECT_THAT(words,
                  HasSubstr("this GPU cannot run the kernels (CUDA_ERROR_"));
      // The rest works.
      Words why;
      FOREBAY_EXPECT_OK(
          why, trainer.calls().copy(trainer.gpu(), trainer.stream(), from, to,
                                    192, why));
      EXPECT_EQ(trainer.Read(to, 192), Numbers(192));
    });
  }
}

// Whether the first GPU has a primary context.
bool HasContext() {
  void* const library = dlopen(DriverLibrary().c_str(), RTLD_NOW);
  const auto state = reinterpret_cast<decltype(&cuDevicePrimaryCtxGetState)>(
      dlsym(library, "cuDevicePrimaryCtxGetState"));
  unsigned flags = 0;
  int active = -1;
  FOREBAY_EXPECT_CUDA(CUDA_SUCCESS, state(0, &flags, &active));
  return active != 0;
}

TEST(TrainerGpuFaultTest, AGpuThatCannotBeOpenedIsLeftAlone) {
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
      EXPECT_EQ(calls.open(0, &gpu, why), one.result) << one.call;
      EXPECT_THAT(why.said(), HasSubstr("the driver gives no context (CUDA_"));
      EXPECT_EQ(gpu, nullptr);
      EXPECT_FALSE(HasContext()) << one.call;
      FOREBAY_EXPECT_OK(why, calls.open(0, &gpu, why));
      EXPECT_EQ(calls.has_tail(gpu), 1);
      EXPECT_TRUE(HasContext());
    });
  }
}

TEST(TrainerGpuFaultTest, AContextThatWasResetIsLostAndMadeAnew) {
  WithGpus("{}", [] {
    const Trainer trainer;
    while (HasContext()) FOREBAY_ASSERT_CUDA(Api().release_context(0));
    EXPECT_EQ(trainer.Poll(), PluginResult::kLost);
    Words why;
    cuda::PluginTrainerGpu* gpu = nullptr;
    FOREBAY_EXPECT_OK(why, trainer.calls().open(0, &gpu, why));
    FOREBAY_EXPECT_OK(why, trainer.calls().poll(gpu, why));
    EXPECT_EQ(trainer.Poll(), PluginResult::kLost);
  });
}

TEST(TrainerGpuFaultTest, WhatTheDriverDoesNotTellIsNoLoss) {
  WithFault("cuStreamQuery", "SYSTEM_NOT_READY", 1, 1, [] {
    const Trainer trainer;
    EXPECT_EQ(trainer.Poll(), PluginResult::kFailed);
    EXPECT_EQ(trainer.Poll(), PluginResult::kOk);
  });
}

TEST(TrainerGpuFaultTest, TheDefaultStreamBesideACaptureCountsAsCaptured) {
  WithFault("cuStreamIsCapturing", "STREAM_CAPTURE_IMPLICIT", 1, 1, [] {
    const Trainer trainer;
    Words why;
    std::int32_t captures = 0;
    FOREBAY_EXPECT_OK(why, trainer.calls().is_capturing(trainer.gpu(), nullptr,
                                                        &captures, why));
    EXPECT_EQ(captures, 1);
  });
}

TEST(TrainerGpuFaultTest, AForkedChildIsToldSo) {
  WithGpus("{}", [] {
    const Trainer trainer;
    const pid_t child = fork();
    if (child == 0) {
      Words why;
      cuda::PluginTrainerGpu* gpu = nullptr;
      EXPECT_EQ(trainer.calls().open(0, &gpu, why), PluginResult::kFailed);
      EXPECT_THAT(why.said(), HasSubstr("CUDA_ERROR_NOT_INITIALIZED"));
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  });
}

}  // namespace
}  // namespace forebay::device_tests

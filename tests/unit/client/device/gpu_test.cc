#include "client/device/gpu.h"

#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "tests/catch/catch.h"
#include "tests/catch/child.h"
#include "tests/catch/matchers.h"
#include "tests/unit/client/device/fake_plugin.h"

namespace forebay::client::device {
namespace {

using tests::ElementsAre;
using tests::IsEmpty;
using tests::IsOk;

class GpuTest {
 protected:
  GpuTest() { Told() = PluginScript(); }

  std::shared_ptr<Gpu> Open() {
    std::shared_ptr<Gpu> gpu;
    const Status status = Gpu::Open(kFakePlugin, 1, &gpu);
    CAPTURE(status.message);
    CHECK_THAT(status, IsOk());
    return gpu;
  }
};

TEST_CASE_METHOD(GpuTest, "A client's GPU is the device of its number",
                 "[device][gpu]") {
  auto gpu = Open();
  CHECK(gpu->uuid() == "uuid 1");
  CHECK(gpu->has_tail());
  gpu.reset();
  CHECK_THAT(Told().calls, ElementsAre("open 1", "close"));
}

TEST_CASE_METHOD(
    GpuTest,
    "The refusal to open a client's GPU names a device that is not there",
    "[device][gpu]") {
  std::shared_ptr<Gpu> gpu;
  for (const int ordinal : {-1, 2}) {
    const Status status = Gpu::Open(kFakePlugin, ordinal, &gpu);
    CHECK(status.code == FOREBAY_INVALID_ARGUMENT);
    CHECK(status.message == "there is no cuda:" + std::to_string(ordinal) +
                                ": this process sees 2 of them");
  }
  CHECK_THAT(Told().calls, IsEmpty());
}

TEST_CASE_METHOD(
    GpuTest, "A host without a driver says why a client's GPU cannot be opened",
    "[device][gpu]") {
  Told().described = 1;
  std::shared_ptr<Gpu> gpu;
  const Status status = Gpu::Open(kFakePlugin, 0, &gpu);
  CHECK(status.code == FOREBAY_INTERNAL);
  CHECK(status.message == "the GPU is on holiday");
}

TEST_CASE_METHOD(
    GpuTest, "Each result of the GPU plug-in has its status code in the client",
    "[device][gpu]") {
  for (const auto& [result, code] :
       {std::pair(cuda::PluginResult::kNoMemory, FOREBAY_RESOURCE_EXHAUSTED),
        std::pair(cuda::PluginResult::kUnavailable,
                  FOREBAY_FAILED_PRECONDITION),
        std::pair(cuda::PluginResult::kFailed, FOREBAY_INTERNAL),
        std::pair(cuda::PluginResult::kLost, FOREBAY_INTERNAL)}) {
    Told().result = result;
    std::shared_ptr<Gpu> gpu;
    const Status status = Gpu::Open(kFakePlugin, 0, &gpu);
    CHECK(status.code == code);
    CHECK(status.message == "the GPU is on holiday");
    CHECK(gpu == nullptr);
  }
  CHECK_THAT(Told().calls, ElementsAre("open 0", "open 0", "open 0", "open 0"));
}

TEST_CASE_METHOD(GpuTest, "Imported memory keeps its GPU open in the client",
                 "[device][gpu]") {
  auto gpu = Open();
  std::unique_ptr<ImportedMemory> memory;
  REQUIRE_THAT(gpu->Import(7, 500, &memory), IsOk());
  CHECK(memory->address() == 7000);
  CHECK(memory->bytes() == 500);
  gpu.reset();
  memory.reset();
  CHECK_THAT(Told().calls, ElementsAre("open 1", "import 7 500",
                                       "unimport 7000 500", "close"));
}

TEST_CASE_METHOD(GpuTest, "A failed import on a client's GPU gives no memory",
                 "[device][gpu]") {
  const auto gpu = Open();
  Told().result = cuda::PluginResult::kNoMemory;
  std::unique_ptr<ImportedMemory> memory;
  CHECK(gpu->Import(7, 500, &memory).code == FOREBAY_RESOURCE_EXHAUSTED);
  CHECK(memory == nullptr);
}

TEST_CASE_METHOD(GpuTest, "A client's GPU hands work on to the plug-in",
                 "[device][gpu]") {
  const auto gpu = Open();
  cuda::PluginTail tail = {};
  tail.element_bytes = 4;
  CHECK_THAT(gpu->RunTail(nullptr, tail, 1, 2, 3, 4), IsOk());
  CHECK_THAT(gpu->Copy(nullptr, 5, 6, 7), IsOk());
  bool called = false;
  CHECK_THAT(
      gpu->CallAfter(
          nullptr, [](void* argument) { *static_cast<bool*>(argument) = true; },
          &called),
      IsOk());
  CHECK(called);
  Told().captures = 1;
  bool captures = false;
  CHECK_THAT(gpu->IsCapturing(nullptr, &captures), IsOk());
  CHECK(captures);
  CHECK_THAT(Told().calls, ElementsAre("open 1", "tail 4 1 2 3 4", "copy 5 6 7",
                                       "call", "capturing"));
}

TEST_CASE_METHOD(GpuTest, "Only a loss of a client's GPU is for good",
                 "[device][gpu]") {
  const auto gpu = Open();
  CHECK_THAT(gpu->Poll(), IsOk());
  Told().result = cuda::PluginResult::kFailed;
  CHECK(gpu->Poll().code == FOREBAY_INTERNAL);
  CHECK_FALSE(gpu->is_lost());
  Told().result = cuda::PluginResult::kLost;
  CHECK(gpu->Poll().message == "the GPU is on holiday");
  CHECK(gpu->is_lost());
}

TEST_CASE_METHOD(GpuTest,
                 "A client's GPU cuts words of the plug-in that are too long",
                 "[device][gpu]") {
  Told().result = cuda::PluginResult::kFailed;
  Told().words = std::string(5000, 'x');
  std::shared_ptr<Gpu> gpu;
  CHECK(Gpu::Open(kFakePlugin, 0, &gpu).message == std::string(1023, 'x'));
}

TEST_CASE_METHOD(GpuTest, "A forked child leaves the client's GPU alone",
                 "[device][gpu]") {
  auto gpu = Open();
  std::unique_ptr<ImportedMemory> memory;
  REQUIRE_THAT(gpu->Import(7, 500, &memory), IsOk());
  const tests::ChildEnd child = tests::RunInChild([&] {
    CHECK(gpu->Copy(nullptr, 5, 6, 7).code == FOREBAY_FORKED);
    CHECK(gpu->Poll().code == FOREBAY_FORKED);
    CHECK_FALSE(gpu->is_lost());
    gpu.reset();
    memory.reset();
    CHECK_THAT(Told().calls, ElementsAre("open 1", "import 7 500"));
  });
  INFO(child.err);
  CHECK(child.status == 0);
}

}  // namespace
}  // namespace forebay::client::device

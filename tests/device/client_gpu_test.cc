// Tests of the client's GPU with the real plug-in, on a GPU or on the fake
// driver.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <thread>

#include "client/device/gpu.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/skip.h"
#include "tests/device/device_fixture.h"
#include "tests/device/expected_elements.h"
#include "tests/device/scripted_gpus.h"
#include "tests/device/trainer_fixture.h"

namespace forebay::device_tests {
namespace {

using tests::IsOk;

using client::device::Gpu;
using client::device::ImportedMemory;

std::shared_ptr<Gpu> OpenGpu() {
  setenv("FOREBAY_CUDA_PLUGIN", "cuda/libforebay_cuda.so", /*overwrite=*/1);
  std::shared_ptr<Gpu> gpu;
  const client::Status status = Gpu::Open(0, &gpu);
  CAPTURE(status.message);
  CHECK_THAT(status, IsOk());
  return gpu;
}

void CountCall(void* calls) { ++*static_cast<std::atomic<int>*>(calls); }

TEST_CASE("The client's GPU makes a tensor of what the daemon exports",
          "[device][client_gpu]") {
  WithGpus(R"({"delay_micros": 2000})", [] {
    const Trainer trainer;  // has a stream, and memory for the tensor
    std::shared_ptr<Gpu> gpu = OpenGpu();
    REQUIRE(gpu->has_tail());
    CHECK(gpu->uuid().size() == 36);
    const Exported exported = Export(Numbers(2 * 64 * 3));
    std::unique_ptr<ImportedMemory> memory;
    REQUIRE_THAT(gpu->Import(exported.fd.get(), exported.bytes, &memory),
                 IsOk());
    const ElementForm form = {
        .image_pixels = 64, .element_bytes = 2, .planar = 1};
    cuda::PluginTail tail = {};
    tail.element_bytes = 2;
    tail.planar = 1;
    tail.colors = 3;
    for (std::uint32_t i = 0; i < 3 * 256; ++i) tail.table[i] = 40503u * i;
    const std::uint64_t to = trainer.Allocate(2 * 64 * 3 * 2);
    bool captures = true;
    REQUIRE_THAT(gpu->IsCapturing(trainer.stream(), &captures), IsOk());
    CHECK_FALSE(captures);
    REQUIRE_THAT(
        gpu->RunTail(trainer.stream(), tail, memory->address(), to, 2, 64),
        IsOk());
    std::atomic<int> calls{0};
    REQUIRE_THAT(gpu->CallAfter(trainer.stream(), &CountCall, &calls), IsOk());
    CHECK_THAT(gpu->Poll(), IsOk());
    CHECK(trainer.Read(to, 2 * 64 * 3 * 2) ==
          ExpectedElements(form, tail.table, Numbers(2 * 64 * 3)));
    gpu.reset();
    memory.reset();
    trainer.Finish();
    CHECK(calls == 1);
  });
}

TEST_CASE("The client knows that its GPU is lost", "[device][client_gpu]") {
  if (getenv("FOREBAY_DRIVER_LIBRARY") != nullptr)
    SKIP("the host's driver reads no script");
  WithGpus(
      R"({"faults": [{"call": "copy within",
                           "error": "CUDA_ERROR_ECC_UNCORRECTABLE"}]})",
      [] {
        const Trainer trainer;
        const std::shared_ptr<Gpu> gpu = OpenGpu();
        const std::uint64_t memory = trainer.Allocate(100);
        REQUIRE_THAT(gpu->Copy(trainer.stream(), memory, memory + 50, 50),
                     IsOk());
        client::Status status;
        while ((status = gpu->Poll()).ok()) std::this_thread::yield();
        CHECK(gpu->is_lost());
        CHECK(status.message ==
              "the GPU is lost to this process "
              "(CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC "
              "error encountered)");
      });
}

}  // namespace
}  // namespace forebay::device_tests

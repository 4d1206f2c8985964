// The client's GPU by the real plug-in, on a GPU or on the fake.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <thread>

#include "client/device/gpu.h"
#include "tests/device/device_fixture.h"
#include "tests/device/expected_elements.h"
#include "tests/device/scripted_gpus.h"
#include "tests/device/trainer_fixture.h"

namespace forebay::device_tests {
namespace {

using client::device::Gpu;
using client::device::ImportedMemory;

std::shared_ptr<Gpu> OpenGpu() {
  setenv("FOREBAY_CUDA_PLUGIN", "cuda/libforebay_cuda.so", /*overwrite=*/1);
  std::shared_ptr<Gpu> gpu;
  const client::Status status = Gpu::Open(0, &gpu);
  EXPECT_TRUE(status.ok()) << status.message;
  return gpu;
}

void CountCall(void* calls) { ++*static_cast<std::atomic<int>*>(calls); }

TEST(ClientGpuTest, MakesATensorOfWhatTheDaemonExports) {
  WithGpus(R"({"delay_micros": 2000})", [] {
    const Trainer trainer;  // a stream, and room for the tensor
    std::shared_ptr<Gpu> gpu = OpenGpu();
    ASSERT_TRUE(gpu->has_tail());
    EXPECT_EQ(gpu->uuid().size(), 36);
    const Exported exported = Export(Numbers(2 * 64 * 3));
    std::unique_ptr<ImportedMemory> memory;
    ASSERT_TRUE(gpu->Import(exported.fd.get(), exported.bytes, &memory).ok());
    const ElementForm form = {
        .image_pixels = 64, .element_bytes = 2, .planar = 1};
    cuda::PluginTail tail = {};
    tail.element_bytes = 2;
    tail.planar = 1;
    tail.colors = 3;
    for (std::uint32_t i = 0; i < 3 * 256; ++i) tail.table[i] = 40503u * i;
    const std::uint64_t to = trainer.Allocate(2 * 64 * 3 * 2);
    bool captures = true;
    ASSERT_TRUE(gpu->IsCapturing(trainer.stream(), &captures).ok());
    EXPECT_FALSE(captures);
    ASSERT_TRUE(
        gpu->RunTail(trainer.stream(), tail, memory->address(), to, 2, 64)
            .ok());
    std::atomic<int> calls{0};
    ASSERT_TRUE(gpu->CallAfter(trainer.stream(), &CountCall, &calls).ok());
    EXPECT_TRUE(gpu->Poll().ok());
    EXPECT_EQ(trainer.Read(to, 2 * 64 * 3 * 2),
              ExpectedElements(form, tail.table, Numbers(2 * 64 * 3)));
    gpu.reset();
    memory.reset();
    trainer.Finish();
    EXPECT_EQ(calls, 1);
  });
}

TEST(ClientGpuTest, KnowsThatItsGpuIsLost) {
  if (getenv("FOREBAY_DRIVER_LIBRARY") != nullptr)
    GTEST_SKIP() << "the host's driver reads no script";
  WithGpus(
      R"({"faults": [{"call": "copy within",
                           "error": "CUDA_ERROR_ECC_UNCORRECTABLE"}]})",
      [] {
        const Trainer trainer;
        const std::shared_ptr<Gpu> gpu = OpenGpu();
        const std::uint64_t memory = trainer.Allocate(100);
        ASSERT_TRUE(gpu->Copy(trainer.stream(), memory, memory + 50, 50).ok());
        client::Status status;
        while ((status = gpu->Poll()).ok()) std::this_thread::yield();
        EXPECT_TRUE(gpu->is_lost());
        EXPECT_EQ(status.message,
                  "the GPU is lost to this process "
                  "(CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC "
                  "error encountered)");
      });
}

}  // namespace
}  // namespace forebay::device_tests

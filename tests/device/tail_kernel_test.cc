// The tail kernel on the GPU, or on the fake.
#include <cuda.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "cuda/kernels/image.h"
#include "cuda/kernels/tail.h"
#include "tests/device/device_fixture.h"
#include "tests/device/expected_elements.h"

namespace forebay::device_tests {
namespace {

class TailTest : public DeviceTest,
                 public ::testing::WithParamInterface<ElementForm> {};

TEST_P(TailTest, MakesTheElementsOfTheTable) {
  cuda::kernels::TailArguments arguments = {};
  arguments.images = 5;
  arguments.image_pixels = GetParam().image_pixels;
  arguments.element_bytes = GetParam().element_bytes;
  arguments.planar = GetParam().planar;
  arguments.colors = GetParam().colors;
  for (std::uint32_t i = 0; i < std::size(arguments.table); ++i)
    arguments.table[i] = 0x9E3779B1u * (i + 1);
  const std::vector<unsigned char> pixels =
      Numbers(arguments.images * arguments.image_pixels * arguments.colors, 7);
  const std::size_t made = pixels.size() * arguments.element_bytes;
  CUdeviceptr in = 0, out = 0;
  FOREBAY_ASSERT_CUDA(Api().allocate(&in, pixels.size()));
  FOREBAY_ASSERT_CUDA(Api().allocate(&out, made));
  Write(in, pixels);
  CUmodule module = nullptr;
  CUfunction tail = nullptr;
  FOREBAY_ASSERT_CUDA(Api().load_module(&module, cuda::kernels::kImage));
  FOREBAY_ASSERT_CUDA(Api().function(&tail, module, cuda::kernels::kTailName));
  cuda::kernels::TailArguments sent = arguments;
  sent.pixels = reinterpret_cast<const std::uint8_t*>(in);
  sent.elements = reinterpret_cast<void*>(out);
  void* values[] = {&sent};
  FOREBAY_ASSERT_CUDA(Api().launch(tail, 3, 1, 1, cuda::kernels::kTailThreads,
                                   1, 1, 0, stream_, values, nullptr));
  EXPECT_EQ(Read(out, made),
            ExpectedElements(GetParam(), arguments.table, pixels));
  FOREBAY_EXPECT_CUDA(CUDA_SUCCESS, Api().unload_module(module));
  FOREBAY_EXPECT_CUDA(CUDA_SUCCESS, Api().free(in));
  FOREBAY_EXPECT_CUDA(CUDA_SUCCESS, Api().free(out));
}

INSTANTIATE_TEST_SUITE_P(
    All, TailTest,
    ::testing::Values(ElementForm{64, 1, 0}, ElementForm{64, 1, 1},
                      ElementForm{64, 2, 0}, ElementForm{64, 2, 1},
                      ElementForm{64, 4, 0}, ElementForm{64, 4, 1},
                      ElementForm{63, 1, 1}, ElementForm{63, 2, 0},
                      ElementForm{63, 4, 1}, ElementForm{1, 4, 0},
                      ElementForm{64, 2, 0, 1}, ElementForm{63, 4, 1, 1},
                      ElementForm{63, 1, 0, 1}, ElementForm{1, 2, 1, 1}));

}  // namespace
}  // namespace forebay::device_tests

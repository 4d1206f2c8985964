// The tail kernel on the GPU, or on the fake.
#include <cuda.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <vector>

#include "cuda/kernels/image.h"
#include "cuda/kernels/tail.h"
#include "tests/device/device_fixture.h"

namespace forebay::device_tests {
namespace {

// The elements by their definition, one at a time.
std::vector<unsigned char> Expected(
    const cuda::kernels::TailArguments& arguments,
    const std::vector<unsigned char>& pixels) {
  const std::size_t size = arguments.image_pixels;
  const std::size_t bytes = arguments.element_bytes;
  const std::size_t colors = arguments.colors;
  std::vector<unsigned char> elements(pixels.size() * bytes);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const std::size_t image = i / colors / size, pixel = i / colors % size;
    const std::size_t color = i % colors;
    const std::size_t at =
        arguments.planar != 0 ? (image * colors + color) * size + pixel : i;
    const std::uint32_t element = arguments.table[256 * color + pixels[i]];
    std::memcpy(&elements[at * bytes], &element, bytes);
  }
  return elements;
}

struct TailCase {
  std::uint64_t image_pixels;
  std::uint32_t element_bytes;
  std::uint32_t planar;
  std::uint32_t colors = 3;
};

class TailTest : public DeviceTest,
                 public ::testing::WithParamInterface<TailCase> {};

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
  EXPECT_EQ(Read(out, made), Expected(arguments, pixels));
  FOREBAY_EXPECT_CUDA(CUDA_SUCCESS, Api().unload_module(module));
  FOREBAY_EXPECT_CUDA(CUDA_SUCCESS, Api().free(in));
  FOREBAY_EXPECT_CUDA(CUDA_SUCCESS, Api().free(out));
}

INSTANTIATE_TEST_SUITE_P(
    All, TailTest,
    ::testing::Values(TailCase{64, 1, 0}, TailCase{64, 1, 1},
                      TailCase{64, 2, 0}, TailCase{64, 2, 1},
                      TailCase{64, 4, 0}, TailCase{64, 4, 1},
                      TailCase{63, 1, 1}, TailCase{63, 2, 0},
                      TailCase{63, 4, 1}, TailCase{1, 4, 0},
                      TailCase{64, 2, 0, 1}, TailCase{63, 4, 1, 1},
                      TailCase{63, 1, 0, 1}, TailCase{1, 2, 1, 1}));

}  // namespace
}  // namespace forebay::device_tests

// Tests of the tail kernel, on a GPU or on the fake driver.
#include "cuda/kernels/tail_kernel.h"

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cuda/kernels/image.h"
#include "tests/catch/catch.h"
#include "tests/catch/suite.h"
#include "tests/device/device_fixture.h"
#include "tests/device/expected_elements.h"

namespace forebay::device_tests {
namespace {

class TailTest : public DeviceTest {
 public:
  using Subject = ElementForm;

  explicit TailTest(const Subject& form) : form_(form) {}

 protected:
  const ElementForm form_;
};

std::vector<tests::Named<ElementForm>> Forms() {
  std::vector<tests::Named<ElementForm>> forms;
  for (const ElementForm& form :
       {ElementForm{64, 1, 0}, ElementForm{64, 1, 1}, ElementForm{64, 2, 0},
        ElementForm{64, 2, 1}, ElementForm{64, 4, 0}, ElementForm{64, 4, 1},
        ElementForm{63, 1, 1}, ElementForm{63, 2, 0}, ElementForm{63, 4, 1},
        ElementForm{1, 4, 0}, ElementForm{64, 2, 0, 1},
        ElementForm{63, 4, 1, 1}, ElementForm{63, 1, 0, 1},
        ElementForm{1, 2, 1, 1}}) {
    forms.push_back({absl::StrCat(form.image_pixels, " pixels of ", form.colors,
                                  " colors, ", form.element_bytes,
                                  " bytes, planar ", form.planar),
                     form});
  }
  return forms;
}

const tests::RunsOn<TailTest> kForms(Forms());

SUITE_CASE(TailTest, "The tail kernel makes the elements of the table",
           "[device][tail_kernel]") {
  cuda::kernels::TailArguments arguments = {};
  arguments.images = 5;
  arguments.image_pixels = form_.image_pixels;
  arguments.element_bytes = form_.element_bytes;
  arguments.planar = form_.planar;
  arguments.colors = form_.colors;
  for (std::uint32_t i = 0; i < std::size(arguments.table); ++i)
    arguments.table[i] = 0x9E3779B1u * (i + 1);
  const std::vector<unsigned char> pixels =
      Numbers(arguments.images * arguments.image_pixels * arguments.colors, 7);
  const std::size_t made = pixels.size() * arguments.element_bytes;
  CUdeviceptr in = 0, out = 0;
  FOREBAY_REQUIRE_CUDA(Api().allocate(&in, pixels.size()));
  FOREBAY_REQUIRE_CUDA(Api().allocate(&out, made));
  Write(in, pixels);
  CUmodule module = nullptr;
  CUfunction tail = nullptr;
  FOREBAY_REQUIRE_CUDA(Api().load_module(&module, cuda::kernels::kImage));
  FOREBAY_REQUIRE_CUDA(Api().function(&tail, module, cuda::kernels::kTailName));
  cuda::kernels::TailArguments sent = arguments;
  sent.pixels = reinterpret_cast<const std::uint8_t*>(in);
  sent.elements = reinterpret_cast<void*>(out);
  void* values[] = {&sent};
  FOREBAY_REQUIRE_CUDA(Api().launch(tail, 3, 1, 1, cuda::kernels::kTailThreads,
                                    1, 1, 0, stream_, values, nullptr));
  CHECK(Read(out, made) == ExpectedElements(form_, arguments.table, pixels));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().unload_module(module));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().free(in));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().free(out));
}

}  // namespace
}  // namespace forebay::device_tests

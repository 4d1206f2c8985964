#ifndef FOREBAY_TESTS_DEVICE_EXPECTED_ELEMENTS_H_
#define FOREBAY_TESTS_DEVICE_EXPECTED_ELEMENTS_H_

#include <cstdint>
#include <vector>

namespace forebay::device_tests {

// The form of a tail kernel's output: see cuda/kernels/tail_kernel.h.
struct ElementForm {
  std::uint64_t image_pixels = 0;
  std::uint32_t element_bytes = 1;
  std::uint32_t planar = 0;
  std::uint32_t colors = 3;
};

// Returns the bytes of the elements, computed one by one from their definition.
// `table` has 256 elements for each color.
std::vector<unsigned char> ExpectedElements(
    const ElementForm& form, const std::uint32_t* table,
    const std::vector<unsigned char>& pixels);

}  // namespace forebay::device_tests

#endif  // FOREBAY_TESTS_DEVICE_EXPECTED_ELEMENTS_H_

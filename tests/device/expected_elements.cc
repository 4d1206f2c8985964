#include "tests/device/expected_elements.h"

#include <cstddef>
#include <cstring>

namespace forebay::device_tests {

std::vector<unsigned char> ExpectedElements(
    const ElementForm& form, const std::uint32_t* table,
    const std::vector<unsigned char>& pixels) {
  const std::size_t size = form.image_pixels;
  const std::size_t bytes = form.element_bytes;
  const std::size_t colors = form.colors;
  std::vector<unsigned char> elements(pixels.size() * bytes);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const std::size_t image = i / colors / size, pixel = i / colors % size;
    const std::size_t color = i % colors;
    const std::size_t at =
        form.planar != 0 ? (image * colors + color) * size + pixel : i;
    const std::uint32_t element = table[256 * color + pixels[i]];
    std::memcpy(&elements[at * bytes], &element, bytes);
  }
  return elements;
}

}  // namespace forebay::device_tests

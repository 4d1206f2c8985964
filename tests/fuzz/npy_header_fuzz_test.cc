// The header of a .npy file: whatever its bytes, reading it gives an error or
// an array that lies within the file.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "server/pipeline/decode/npy_header.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto header = forebay::pipeline::decode::ParseNpyHeader({data, size});
  if (!header.ok()) return 0;
  Require(header->data_offset <= size &&
          header->data_bytes <= size - header->data_offset);
  Require(header->shape.size() <= 32);
  std::uint64_t items = 1;
  bool empty = false;
  for (const std::uint64_t extent : header->shape) {
    empty |= extent == 0;
    if (!empty) items *= extent;
  }
  Require(header->data_bytes == (empty ? 0 : items * header->item_bytes));
  return 0;
}

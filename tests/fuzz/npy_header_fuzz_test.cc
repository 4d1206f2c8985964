// Fuzzes the reader of .npy headers. The reader gives an error, or the array's
// size and the offset at which it begins.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "proto/shm_layout.h"
#include "server/array/npy_array.h"
#include "server/array/npy_header.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto header = forebay::array::ParseNpyHeader({data, size});
  const auto array = forebay::array::ReadNpyArray({data, size});
  if (!header.ok()) {
    Require(!array.ok());
    return 0;
  }
  const auto header_bytes = forebay::array::NpyHeaderBytes(
      {data, std::min<std::size_t>(size, forebay::array::kNpyStartBytes)});
  Require(header_bytes.ok() && *header_bytes == header->data_offset);
  Require(header->data_offset <= size);
  Require(header->shape.size() <= 32);
  std::uint64_t items = 1;
  bool empty = false;
  for (const std::uint64_t extent : header->shape) {
    empty |= extent == 0;
    if (!empty) items *= extent;
  }
  Require(header->data_bytes == (empty ? 0 : items * header->item_bytes));
  if (!array.ok()) return 0;
  Require(array->offset == header->data_offset &&
          array->bytes == header->data_bytes && array->shape == header->shape &&
          forebay::proto::SizeOf(array->dtype) == header->item_bytes);
  return 0;
}

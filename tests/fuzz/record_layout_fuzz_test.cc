// Fuzzes a client's description of samples in memory. The daemon refuses the
// description, or its fields lie within the records, and the records lie within
// the memory.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "proto/dataset.pb.h"
#include "server/dataset/memory/memory_record_layout.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

// The input is the memory's length (8 bytes) and a Produced message. Its fields
// and samples also serve as those of an Arrays message.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  std::uint64_t bytes = 0;
  if (size < sizeof(bytes)) return 0;
  for (std::size_t i = 0; i < sizeof(bytes); ++i) {
    bytes |= std::uint64_t{data[i]} << (8 * i);
  }
  forebay::proto::Produced spec;
  if (!spec.ParseFromArray(data + sizeof(bytes),
                           static_cast<int>(size - sizeof(bytes)))) {
    return 0;
  }
  const auto layout = forebay::dataset::memory::MemoryRecordLayout::Create(
      spec.fields(), spec.samples(), spec.host_fields());
  if (!layout.ok() || !layout->CheckBytes(bytes).ok()) return 0;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < layout->fields().size(); ++i) {
    Require(layout->part(i).offset == end);
    Require(layout->part(i).length == layout->fields()[i].longest);
    end += layout->part(i).length;
  }
  Require(end == layout->record_bytes());
  Require(end == 0 ? bytes == 0
                   : bytes / end == layout->samples() && bytes % end == 0);
  return 0;
}

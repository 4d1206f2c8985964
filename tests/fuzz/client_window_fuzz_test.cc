// Fuzzes a reader's window. The client refuses the window, or finds fields that
// lie within it.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "client/shm/window.h"
#include "proto/fd.h"
#include "proto/shm_fetch.h"
#include "tests/fuzz/require.h"

namespace {

using forebay::fuzz::Require;
using forebay::fuzz::Touch;
using forebay::proto::FetchedField;

// Returns the memory of the window. The memory is one file, which each call
// overwrites.
const forebay::proto::Fd& Memory(const std::uint8_t* data, std::size_t size) {
  static auto* const memory =
      new forebay::proto::Fd(memfd_create("window", MFD_CLOEXEC));
  Require(ftruncate(memory->get(), 0) == 0 &&
          pwrite(memory->get(), data, size, 0) == static_cast<ssize_t>(size));
  return *memory;
}

}  // namespace

// The input is the number of requested samples, the number of their fields, and
// the window.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size < 3) return 0;
  const std::uint64_t samples = data[0] | std::uint64_t{data[1]} << 8;
  const std::uint32_t fields = data[2];
  size -= 3;
  forebay::client::shm::FetchWindow window;
  if (!window.Map(Memory(data + 3, size), size).ok()) return 0;
  if (!window.Check(samples, fields).ok()) return 0;
  for (std::uint64_t sample = 0; sample < samples; ++sample) {
    for (std::uint32_t field = 0; field < fields; ++field) {
      FetchedField found = {};
      if (!window.Find(sample, field, fields, &found).ok()) continue;
      if (found.kind == forebay::proto::FieldKind{}) continue;
      Require(found.rank <= forebay::proto::kMaxRank);
      Require(found.offset <= size && found.bytes <= size - found.offset);
      Touch(window.data() + found.offset, found.bytes);
    }
  }
  return 0;
}

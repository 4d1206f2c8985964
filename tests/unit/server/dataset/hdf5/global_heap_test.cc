// Tests how much memory the walk through global heaps takes.
#include "server/dataset/hdf5/global_heap.h"

#include <cstdint>
#include <string>

#include "server/base/memory_budget.h"
#include "server/base/status.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/hdf5/golden_hdf5.h"

namespace forebay::dataset::hdf5 {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr std::uint64_t kNumber = 65535;  // the largest index of an object

// Appends a global heap with one object of one byte to `file`, and a reference
// to that object to `references`.
void AppendHeap(char value, std::string* file, std::string* references) {
  Append(1, 4, references);
  Append(file->size(), 8, references);
  Append(kNumber, 4, references);
  *file += std::string("GCOL\1\0\0\0", 8);
  Append(40, 8, file);
  Append(kNumber, 2, file);
  Append(1, 6, file);
  Append(1, 8, file);
  *file += value;
  file->resize(file->size() + 7);
}

// Walks through two heaps, and returns their values.
absl::StatusOr<std::string> Walk(base::WorkingMemory* memory) {
  std::string file(8, '\0');
  std::string references;
  AppendHeap('a', &file, &references);
  AppendHeap('b', &file, &references);
  FileView view(file.size(), {}, memory);
  FOREBAY_RETURN_IF_ERROR(memory->Grow(references.capacity()));
  GlobalHeapWalk walk(references, 1, 100);
  FOREBAY_RETURN_IF_ERROR(walk.Begin(view));
  while (!walk.done()) {
    FOREBAY_RETURN_IF_ERROR(LookInto(
        file, view, [&](FileView& looked) { return walk.Step(looked); }));
  }
  CHECK(walk.memory() >= (kNumber + 1) * sizeof(ValuePlace));
  memory->Shrink(walk.memory());
  return walk.copies();
}

TEST_CASE("The walk through HDF5 heaps counts the places of a heap's objects",
          "[hdf5][global_heap]") {
  base::MemoryBudget large(std::uint64_t{2} << 20);
  base::WorkingMemory enough(&large, "a test");
  const auto values = Walk(&enough);
  REQUIRE_THAT(values, IsOk());
  CHECK(*values == "ab");
  base::MemoryBudget small(std::uint64_t{1} << 20);
  base::WorkingMemory little(&small, "a test");
  CHECK_THAT(Walk(&little), HasCode(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace forebay::dataset::hdf5

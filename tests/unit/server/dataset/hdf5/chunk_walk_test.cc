// Tests of the reads and the memory that walks through the nodes of B-trees
// take. The files have the first child first.
#include "server/dataset/hdf5/chunk_walk.h"

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "server/base/memory_budget.h"
#include "server/base/status.h"
#include "server/dataset/hdf5/array_layout.h"
#include "server/dataset/hdf5/btree2.h"
#include "server/dataset/hdf5/checksum.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/hdf5/golden_hdf5.h"

namespace forebay::dataset::hdf5 {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr std::uint64_t kAmple = std::uint64_t{8} << 20;  // bytes
constexpr std::uint64_t kLeaves = 16384;
constexpr std::uint64_t kRoot = 8;  // address

// Appends the checksum of all bytes from `begin` on.
void AppendChecksum(std::size_t begin, std::string* file) {
  Append(Lookup3(AsBytes(std::string_view(*file).substr(begin))), 4, file);
}

// Returns a file with a B-tree of chunks, version 1: a root, and leaves without
// entries.
std::string Btree1() {
  std::string file(kRoot, '\0');
  const std::uint64_t leaves = kRoot + 24 + kLeaves * 32;
  file += std::string("TREE\1\1", 6);
  Append(kLeaves, 2, &file);
  Append(UINT64_MAX, 8, &file);
  Append(UINT64_MAX, 8, &file);
  for (std::uint64_t i = 0; i < kLeaves; ++i) {
    file += std::string(24, '\0');
    Append(leaves + i * 24, 8, &file);
  }
  for (std::uint64_t i = 0; i < kLeaves; ++i) {
    file += std::string("TREE\1\0\0\0", 8);
    file += std::string(16, '\xff');
  }
  return file;
}

// Returns a file with a B-tree, version 2: a root, and leaves without records.
// The header follows the nodes.
std::string Btree2(std::uint64_t* header) {
  std::string file(kRoot, '\0');
  const std::uint64_t leaves =
      kRoot + 6 + (kLeaves - 1) * 16 + kLeaves * 10 + 4;
  file += std::string("BTIN\0\x0a", 6);
  file += std::string((kLeaves - 1) * 16, '\0');
  for (std::uint64_t i = 0; i < kLeaves; ++i) {
    Append(leaves + i * 10, 8, &file);
    Append(0, 2, &file);
  }
  AppendChecksum(kRoot, &file);
  for (std::uint64_t i = 0; i < kLeaves; ++i) {
    const std::size_t begin = file.size();
    file += std::string("BTLF\0\x0a", 6);
    AppendChecksum(begin, &file);
  }
  *header = file.size();
  file += std::string("BTHD\0\x0a", 6);
  Append(std::uint64_t{1} << 20, 4, &file);  // bytes of a node
  Append(16, 2, &file);                      // bytes of a record
  Append(1, 2, &file);                       // depth
  Append(0, 2, &file);
  Append(kRoot, 8, &file);
  Append(kLeaves - 1, 2, &file);
  Append(kLeaves - 1, 8, &file);
  AppendChecksum(*header, &file);
  return file;
}

// Calls `step` with a view of the file until it returns true or an error. Adds
// the number of reads to `reads`. Afterwards, nothing is counted in the memory.
absl::Status Walk(const std::string& file, std::uint64_t limit,
                  absl::FunctionRef<absl::StatusOr<bool>(FileView&)> step,
                  int* reads) {
  base::MemoryBudget budget(limit);
  base::WorkingMemory memory(&budget, "a test");
  {
    FileView view(file.size(), {}, &memory);
    for (bool is_done = false; !is_done;) {
      FOREBAY_RETURN_IF_ERROR(LookInto(file, view, [&](FileView& looked) {
        const auto stepped = step(looked);
        if (absl::IsUnavailable(stepped.status())) ++*reads;
        if (stepped.ok()) is_done = *stepped;
        return stepped.status();
      }));
    }
  }
  CHECK_THAT(memory.Grow(limit), IsOk());
  return absl::OkStatus();
}

absl::Status WalkBtree1(std::uint64_t limit, int* reads) {
  ArrayLayout array;
  array.kind = ArrayLayout::Kind::kChunked;
  array.type.size = 1;
  array.shape = array.largest = {10};
  array.chunk = {1};
  array.index = ChunkIndex::kBtree1;
  array.address = kRoot;
  ChunkWalk walk(&array);
  return Walk(
      Btree1(), limit,
      [&](FileView& file) -> absl::StatusOr<bool> {
        FOREBAY_RETURN_IF_ERROR(walk.Step(file));
        return walk.done();
      },
      reads);
}

absl::Status WalkBtree2(std::uint64_t limit, int* reads) {
  std::uint64_t header = 0;
  const std::string file = Btree2(&header);
  Btree2Walk walk(header);
  return Walk(
      file, limit,
      [&](FileView& looked) -> absl::StatusOr<bool> {
        FOREBAY_RETURN_IF_ERROR(
            walk.Step(looked, [](Bytes) { return absl::OkStatus(); }));
        return walk.done();
      },
      reads);
}

// The file and the list of nodes still to be read take up to 1.7 MB. The set of
// nodes that were read takes 1 MB.
TEST_CASE("HDF5 B-trees count the memory of their nodes and give it back",
          "[hdf5][chunk_walk]") {
  int reads = 0;
  CHECK_THAT(WalkBtree1(kAmple, &reads), IsOk());
  CHECK_THAT(WalkBtree1(std::uint64_t{2} << 20, &reads),
             HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_THAT(WalkBtree2(kAmple, &reads), IsOk());
  CHECK_THAT(WalkBtree2(std::uint64_t{1} << 20, &reads),
             HasCode(absl::StatusCode::kResourceExhausted));
}

// Reads become longer from front to back. Each node would take a read of its
// own if the last one came first.
TEST_CASE("Walks through HDF5 B-trees read a node's first child first",
          "[hdf5][chunk_walk]") {
  int reads = 0;
  CHECK_THAT(WalkBtree1(kAmple, &reads), IsOk());
  CHECK(reads < 20);
  reads = 0;
  CHECK_THAT(WalkBtree2(kAmple, &reads), IsOk());
  CHECK(reads < 20);
}

}  // namespace
}  // namespace forebay::dataset::hdf5

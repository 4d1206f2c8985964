#include "server/daemon/scratch_memory.h"

#include "tests/catch/catch.h"

namespace forebay::daemon {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kGiB = 1 << 30;

TEST_CASE("Many threads share the scratch memory that one image may need",
          "[daemon][scratch_memory]") {
  const ScratchMemory scratch = ShareOutScratch(512 * kMiB, 2 * kGiB, 32);
  CHECK(scratch.shared == 256 * kMiB);
  CHECK(scratch.place == 8 * kMiB);
  CHECK(scratch.total(32) == 512 * kMiB);
}

TEST_CASE("Workers have no more scratch memory than a photograph needs",
          "[daemon][scratch_memory]") {
  const ScratchMemory scratch = ShareOutScratch(512 * kMiB, 64 * kGiB, 32);
  CHECK(scratch.shared == 512 * kMiB);
  CHECK(scratch.place == 128 * kMiB);
}

TEST_CASE("No scratch memory is shared where each thread has all it needs",
          "[daemon][scratch_memory]") {
  const ScratchMemory scratch = ShareOutScratch(16 * kMiB, 2 * kGiB, 8);
  CHECK(scratch.place == 16 * kMiB);
  CHECK(scratch.shared == 0);
}

TEST_CASE("Scratch memory stays within a quarter of the memory",
          "[daemon][scratch_memory]") {
  for (const std::uint64_t limit : {0 * kMiB, kMiB, 16 * kMiB, 512 * kMiB}) {
    for (const std::uint64_t memory :
         {0 * kMiB, 64 * kMiB, 150 * kMiB, 1024 * kMiB, 64 * kGiB}) {
      for (const int places : {2, 3, 32, 200}) {
        const ScratchMemory scratch = ShareOutScratch(limit, memory, places);
        CHECK(scratch.total(places) <= memory / 4);
        CHECK(scratch.place <= limit);
        CHECK(scratch.shared <= limit);
        CHECK((scratch.shared == 0 || scratch.place < scratch.shared));
      }
    }
  }
}

}  // namespace
}  // namespace forebay::daemon

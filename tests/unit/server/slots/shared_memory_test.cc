#include "server/slots/shared_memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::slots {
namespace {

using tests::IsOk;

constexpr std::uint64_t kBytes = 3 * 4096;

TEST_CASE("Readers of shared memory see what the daemon writes after sealing",
          "[slots][shared_memory]") {
  auto memory = SharedMemory::Create("test", kBytes, ClientAccess::kRead);
  REQUIRE_THAT(memory, IsOk());
  void* reader = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, memory->fd(), 0);
  REQUIRE(reader != MAP_FAILED);
  memory->data()[5000] = 42;
  CHECK(static_cast<std::uint8_t*>(reader)[5000] == 42);
  munmap(reader, kBytes);
}

TEST_CASE("Readers of shared memory cannot change what others see",
          "[slots][shared_memory]") {
  auto memory = SharedMemory::Create("test", kBytes, ClientAccess::kRead);
  REQUIRE_THAT(memory, IsOk());
  CHECK(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory->fd(),
             0) == MAP_FAILED);
  CHECK(pwrite(memory->fd(), "x", 1, 0) == -1);
  CHECK(errno == EPERM);
  CHECK(ftruncate(memory->fd(), 4096) == -1);
  CHECK(errno == EPERM);

  // A private mapping can be written, and its writes stay private.
  void* mine = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE,
                    memory->fd(), 0);
  REQUIRE(mine != MAP_FAILED);
  static_cast<std::uint8_t*>(mine)[0] = 7;
  CHECK(memory->data()[0] == 0);
  munmap(mine, kBytes);
}

TEST_CASE("Writers of shared memory may write but not resize it",
          "[slots][shared_memory]") {
  auto memory = SharedMemory::Create("test", kBytes, ClientAccess::kReadWrite);
  REQUIRE_THAT(memory, IsOk());
  void* writer = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                      memory->fd(), 0);
  REQUIRE(writer != MAP_FAILED);
  static_cast<std::uint8_t*>(writer)[1] = 9;
  CHECK(memory->data()[1] == 9);
  munmap(writer, kBytes);
  CHECK(ftruncate(memory->fd(), 0) == -1);
  CHECK(errno == EPERM);
}

TEST_CASE("Shared memory rounds up to whole pages", "[slots][shared_memory]") {
  auto memory = SharedMemory::Create("test", 1, ClientAccess::kRead);
  REQUIRE_THAT(memory, IsOk());
  CHECK(memory->bytes() == 4096);
}

TEST_CASE("Shared memory begins as zeros whatever its size",
          "[slots][shared_memory]") {
  for (const std::uint64_t pages : {1, 511, 512, 513, 1300}) {
    auto memory =
        SharedMemory::Create("test", pages * 4096, ClientAccess::kRead);
    REQUIRE_THAT(memory, IsOk());
    REQUIRE(memory->bytes() == pages * 4096);
    CHECK(std::all_of(memory->data(), memory->data() + memory->bytes(),
                      [](std::uint8_t byte) { return byte == 0; }));
    struct stat status;
    REQUIRE(fstat(memory->fd(), &status) == 0);
    UNSCOPED_INFO("all there, no more");
    CHECK(status.st_blocks * 512 == memory->bytes());
  }
}

TEST_CASE("Moving shared memory leaves nothing behind",
          "[slots][shared_memory]") {
  auto memory = SharedMemory::Create("test", kBytes, ClientAccess::kRead);
  REQUIRE_THAT(memory, IsOk());
  SharedMemory moved = *std::move(memory);
  // NOLINTNEXTLINE(bugprone-use-after-move): that is the question
  CHECK(memory->data() == nullptr);
  moved.data()[kBytes - 1] = 1;
  moved = *SharedMemory::Create("other", 4096, ClientAccess::kRead);
  CHECK(moved.bytes() == 4096);
}

}  // namespace
}  // namespace forebay::slots

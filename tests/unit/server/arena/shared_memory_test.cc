#include "server/arena/shared_memory.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace forebay::arena {
namespace {

constexpr std::uint64_t kBytes = 3 * 4096;

TEST(SharedMemoryTest, ReadersSeeWhatTheDaemonWritesAfterSealing) {
  auto memory = SharedMemory::Create("test", kBytes, ClientAccess::kRead);
  ASSERT_TRUE(memory.ok()) << memory.status();
  void* reader = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, memory->fd(), 0);
  ASSERT_NE(reader, MAP_FAILED);
  memory->data()[5000] = 42;
  EXPECT_EQ(static_cast<std::uint8_t*>(reader)[5000], 42);
  munmap(reader, kBytes);
}

TEST(SharedMemoryTest, ReadersCannotChangeWhatOthersSee) {
  auto memory = SharedMemory::Create("test", kBytes, ClientAccess::kRead);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                 memory->fd(), 0),
            MAP_FAILED);
  EXPECT_EQ(pwrite(memory->fd(), "x", 1, 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(ftruncate(memory->fd(), 4096), -1);
  EXPECT_EQ(errno, EPERM);

  // A private mapping may be written, and stays private.
  void* mine = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE,
                    memory->fd(), 0);
  ASSERT_NE(mine, MAP_FAILED);
  static_cast<std::uint8_t*>(mine)[0] = 7;
  EXPECT_EQ(memory->data()[0], 0);
  munmap(mine, kBytes);
}

TEST(SharedMemoryTest, WritersMayWriteButNotResize) {
  auto memory = SharedMemory::Create("test", kBytes, ClientAccess::kReadWrite);
  ASSERT_TRUE(memory.ok()) << memory.status();
  void* writer = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                      memory->fd(), 0);
  ASSERT_NE(writer, MAP_FAILED);
  static_cast<std::uint8_t*>(writer)[1] = 9;
  EXPECT_EQ(memory->data()[1], 9);
  munmap(writer, kBytes);
  EXPECT_EQ(ftruncate(memory->fd(), 0), -1);
  EXPECT_EQ(errno, EPERM);
}

TEST(SharedMemoryTest, RoundsUpToWholePages) {
  auto memory = SharedMemory::Create("test", 1, ClientAccess::kRead);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(memory->bytes(), 4096);
}

TEST(SharedMemoryTest, BeginsAsZerosWhateverItsSize) {
  for (const std::uint64_t pages : {1, 511, 512, 513, 1300}) {
    auto memory =
        SharedMemory::Create("test", pages * 4096, ClientAccess::kRead);
    ASSERT_TRUE(memory.ok()) << memory.status();
    ASSERT_EQ(memory->bytes(), pages * 4096);
    EXPECT_TRUE(std::all_of(memory->data(), memory->data() + memory->bytes(),
                            [](std::uint8_t byte) { return byte == 0; }));
    struct stat status;
    ASSERT_EQ(fstat(memory->fd(), &status), 0);
    EXPECT_EQ(status.st_blocks * 512, memory->bytes()) << "all there, no more";
  }
}

TEST(SharedMemoryTest, MovingLeavesNothingBehind) {
  auto memory = SharedMemory::Create("test", kBytes, ClientAccess::kRead);
  ASSERT_TRUE(memory.ok()) << memory.status();
  SharedMemory moved = *std::move(memory);
  // NOLINTNEXTLINE(bugprone-use-after-move): that is the question
  EXPECT_EQ(memory->data(), nullptr);
  moved.data()[kBytes - 1] = 1;
  moved = *SharedMemory::Create("other", 4096, ClientAccess::kRead);
  EXPECT_EQ(moved.bytes(), 4096);
}

}  // namespace
}  // namespace forebay::arena

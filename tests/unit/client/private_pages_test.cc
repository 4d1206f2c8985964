#include "client/private_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace forebay::client {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kPages = 256;
constexpr size_t kBytes = kPage * kPages;

// Shared memory as the daemon has it, and as a client maps it.
class PrivatePagesTest : public ::testing::TestWithParam<PageSearch> {
 protected:
  void SetUp() override {
    fd_ = memfd_create("slot", MFD_CLOEXEC);
    ASSERT_GE(fd_, 0);
    ASSERT_EQ(ftruncate(fd_, kBytes), 0);
    daemon_ = Map(MAP_SHARED);
    client_ = Map(MAP_PRIVATE);
    Write(1);
  }
  void TearDown() override {
    munmap(daemon_, kBytes);
    munmap(client_, kBytes);
    close(fd_);
  }

  std::uint8_t* Map(int kind) {
    return static_cast<std::uint8_t*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, kind, fd_, 0));
  }
  // The daemon fills every page.
  void Write(int value) { memset(daemon_, value, kBytes); }
  // Pages of the client that show `value`.
  int Count(int value) const {
    int count = 0;
    for (size_t page = 0; page < kPages; ++page)
      count += client_[page * kPage + 5] == value;
    return count;
  }

  int fd_ = -1;
  std::uint8_t* daemon_ = nullptr;
  std::uint8_t* client_ = nullptr;
};

TEST_P(PrivatePagesTest, ShowsFreshContentAfterScatteredWrites) {
  for (size_t page : {0, 1, 2, 77, 255}) client_[page * kPage + 5] = 9;
  Write(2);
  ASSERT_EQ(Count(2), kPages - 5);
  EXPECT_EQ(DropPrivatePages(client_, kBytes, GetParam()), GetParam());
  EXPECT_EQ(Count(2), kPages);
}

TEST_P(PrivatePagesTest, ShowsFreshContentAfterManyRuns) {
  for (size_t page = 0; page < kPages; page += 2) client_[page * kPage] = 9;
  Write(2);
  DropPrivatePages(client_, kBytes, GetParam());
  EXPECT_EQ(Count(2), kPages);
}

TEST_P(PrivatePagesTest, ShowsFreshContentAfterWritingAll) {
  memset(client_, 9, kBytes);
  Write(2);
  DropPrivatePages(client_, kBytes, GetParam());
  EXPECT_EQ(Count(2), kPages);
}

TEST_P(PrivatePagesTest, LeavesWhatWasOnlyRead) {
  ASSERT_EQ(Count(1), kPages);
  DropPrivatePages(client_, kBytes, GetParam());
  EXPECT_EQ(Count(1), kPages);
  Write(2);
  EXPECT_EQ(Count(2), kPages);
}

TEST_P(PrivatePagesTest, MadePrivateStaysAsItWas) {
  client_[5] = 9;
  MakePagesPrivate(client_, kBytes);
  Write(2);
  EXPECT_EQ(client_[5], 9);
  EXPECT_EQ(Count(1), kPages - 1);
  DropPrivatePages(client_, kBytes, GetParam());
  EXPECT_EQ(Count(2), kPages);
}

INSTANTIATE_TEST_SUITE_P(Searches, PrivatePagesTest,
                         ::testing::Values(PageSearch::kScan,
                                           PageSearch::kPagemap,
                                           PageSearch::kNone));

}  // namespace
}  // namespace forebay::client

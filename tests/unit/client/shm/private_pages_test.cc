#include "client/shm/private_pages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <tuple>

#include "proto/shm_mapping.h"

namespace forebay::client::shm {
namespace {

constexpr size_t kPage = 4096;
// Two huge pages, and some that are none.
constexpr size_t kPages = 2 * proto::kHugePageBytes / kPage + 100;
constexpr size_t kBytes = kPage * kPages;
constexpr int kMadviseCollapse = 25;

// Shared memory as the daemon has it, in huge pages or not, and as a client
// maps it.
class PrivatePagesTest
    : public ::testing::TestWithParam<std::tuple<PageSearch, bool>> {
 protected:
  void SetUp() override {
    const auto [search, huge] = GetParam();
    pages_ = PrivatePages::Create(search);
    if (pages_ == nullptr) GTEST_SKIP() << "this kernel refuses it";
    ASSERT_EQ(pages_->search(), search);
    fd_ = memfd_create("slot", MFD_CLOEXEC);
    ASSERT_GE(fd_, 0);
    ASSERT_EQ(ftruncate(fd_, kBytes), 0);
    daemon_ = Map(MAP_SHARED);
    client_ = Map(MAP_PRIVATE);
    Write(1);
    if (huge &&
        madvise(daemon_, 2 * proto::kHugePageBytes, kMadviseCollapse) != 0)
      GTEST_SKIP() << "this kernel makes no huge pages of shared memory";
    pages_->Watch(client_, kBytes);
  }
  void TearDown() override {
    if (client_ == nullptr) return;
    munmap(daemon_, kBytes);
    munmap(client_, kBytes);
    close(fd_);
  }

  std::uint8_t* Map(int kind) {
    return static_cast<std::uint8_t*>(
        proto::MapShared(kBytes, PROT_READ | PROT_WRITE, kind, fd_));
  }
  void Drop() { pages_->Drop(client_, kBytes); }
  // The daemon fills every page.
  void Write(int value) { memset(daemon_, value, kBytes); }
  // Pages of the client that show `value`.
  int Count(int value) const {
    int count = 0;
    for (size_t page = 0; page < kPages; ++page)
      count += client_[page * kPage + 5] == value;
    return count;
  }

  std::shared_ptr<PrivatePages> pages_;
  int fd_ = -1;
  std::uint8_t* daemon_ = nullptr;
  std::uint8_t* client_ = nullptr;
};

TEST_P(PrivatePagesTest, ShowsFreshContentAfterScatteredWrites) {
  for (size_t page : {0, 1, 2, 77, 1100}) client_[page * kPage + 5] = 9;
  Write(2);
  ASSERT_EQ(Count(2), kPages - 5);
  Drop();
  EXPECT_EQ(Count(2), kPages);
}

TEST_P(PrivatePagesTest, ShowsFreshContentAfterManyRuns) {
  for (size_t page = 0; page < kPages; page += 2) client_[page * kPage] = 9;
  Write(2);
  Drop();
  EXPECT_EQ(Count(2), kPages);
}

TEST_P(PrivatePagesTest, ShowsFreshContentAfterWritingAll) {
  memset(client_, 9, kBytes);
  Write(2);
  Drop();
  EXPECT_EQ(Count(2), kPages);
}

TEST_P(PrivatePagesTest, FindsWritesTimeAndAgain) {
  for (int round = 2; round < 9; ++round) {
    Drop();
    Write(round);
    ASSERT_EQ(Count(round), kPages) << round;
    // One page, then some, then most, then the first again.
    for (size_t page = 0; page < kPages; page += kPages >> (round % 4 * 2))
      client_[page * kPage + 5] = 0;
    Write(99);
    ASSERT_LT(Count(99), kPages) << round;
  }
}

TEST_P(PrivatePagesTest, FindsWhatTheKernelWrote) {
  const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(read(zeros, client_ + 2 * kPage, kPage + 9), kPage + 9);
  close(zeros);
  ASSERT_EQ(Count(1), kPages - 2);
  Write(2);
  ASSERT_EQ(Count(2), kPages - 2);
  Drop();
  EXPECT_EQ(Count(2), kPages);
}

TEST_P(PrivatePagesTest, FindsWhatWasWrittenAroundAFork) {
  client_[5] = 9;
  const pid_t child = fork();
  if (child == 0) {
    client_[kPage + 5] = 8;
    _exit(client_[5] == 9 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  client_[5] = 7;
  client_[2 * kPage + 5] = 7;
  Write(2);
  ASSERT_EQ(Count(2), kPages - 2);
  Drop();
  EXPECT_EQ(Count(2), kPages);
}

TEST_P(PrivatePagesTest, DropsPagesThatWereLocked) {
  if (mlock(client_, kBytes) != 0) GTEST_SKIP() << "locking is not allowed";
  client_[5] = 9;
  Write(2);
  Drop();
  EXPECT_EQ(Count(2), kPages);
}

TEST_P(PrivatePagesTest, MappingsAreApart) {
  std::uint8_t* const other = Map(MAP_PRIVATE);
  pages_->Watch(other, kBytes);
  client_[5] = 8;
  other[5] = 9;
  Drop();
  EXPECT_EQ(client_[5], 1);
  EXPECT_EQ(other[5], 9);
  pages_->Drop(other, kBytes);
  EXPECT_EQ(other[5], 1);
  munmap(other, kBytes);
}

TEST_P(PrivatePagesTest, LeavesWhatWasOnlyRead) {
  ASSERT_EQ(Count(1), kPages);
  Drop();
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
  Drop();
  EXPECT_EQ(Count(2), kPages);
}

INSTANTIATE_TEST_SUITE_P(
    Searches, PrivatePagesTest,
    ::testing::Combine(::testing::Values(PageSearch::kScan,
                                         PageSearch::kPagemap,
                                         PageSearch::kNone),
                       ::testing::Bool()));

TEST(PrivatePages, TakesTheFirstThatIsGranted) {
  for (const PageSearch search : {PageSearch::kScan, PageSearch::kPagemap}) {
    if (PrivatePages::Create(search) == nullptr) continue;
    EXPECT_EQ(PrivatePages::Create()->search(), search);
    return;
  }
  EXPECT_EQ(PrivatePages::Create()->search(), PageSearch::kNone);
}

}  // namespace
}  // namespace forebay::client::shm

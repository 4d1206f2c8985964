#include "client/shm/private_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>

#include "proto/shm_mapping.h"
#include "tests/catch/catch.h"
#include "tests/catch/skip.h"
#include "tests/catch/suite.h"

namespace forebay::client::shm {
namespace {

constexpr size_t kPage = 4096;
// Two huge pages, and 100 small pages after them.
constexpr size_t kPages = 2 * proto::kHugePageBytes / kPage + 100;
constexpr size_t kBytes = kPage * kPages;
constexpr int kMadviseCollapse = 25;

// The daemon's shared memory, in huge pages or small ones, and a client's
// mapping of it.
class PrivatePagesTest {
 public:
  struct Subject {
    PageSearch search;
    bool huge;
  };

  explicit PrivatePagesTest(const Subject& subject) {
    const auto [search, huge] = subject;
    pages_ = PrivatePages::Create(search);
    if (pages_ == nullptr) SKIP("this kernel refuses it");
    REQUIRE(pages_->search() == search);
    fd_ = memfd_create("slot", MFD_CLOEXEC);
    REQUIRE(fd_ >= 0);
    REQUIRE(ftruncate(fd_, kBytes) == 0);
    daemon_ = Map(MAP_SHARED);
    client_ = Map(MAP_PRIVATE);
    Write(1);
    if (huge &&
        madvise(daemon_, 2 * proto::kHugePageBytes, kMadviseCollapse) != 0) {
      // The constructor unmaps the memory itself, because the destructor does
      // not run after an exception of the constructor.
      Unmap();
      SKIP("this kernel makes no huge pages of shared memory");
    }
    pages_->Watch(client_, kBytes);
  }
  ~PrivatePagesTest() { Unmap(); }

 protected:
  std::uint8_t* Map(int kind) {
    return static_cast<std::uint8_t*>(
        proto::MapShared(kBytes, PROT_READ | PROT_WRITE, kind, fd_));
  }
  void Unmap() const {
    munmap(daemon_, kBytes);
    munmap(client_, kBytes);
    close(fd_);
  }
  void Drop() { pages_->Drop(client_, kBytes); }
  // Fills every page as the daemon does.
  void Write(int value) { memset(daemon_, value, kBytes); }
  // Returns how many of the client's pages show `value`.
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

SUITE_CASE(PrivatePagesTest,
           "A drop of private pages shows fresh content after scattered writes",
           "[shm][private_pages]") {
  for (size_t page : {0, 1, 2, 77, 1100}) client_[page * kPage + 5] = 9;
  Write(2);
  REQUIRE(Count(2) == kPages - 5);
  Drop();
  CHECK(Count(2) == kPages);
}

SUITE_CASE(
    PrivatePagesTest,
    "A drop of private pages shows fresh content after many runs of writes",
    "[shm][private_pages]") {
  for (size_t page = 0; page < kPages; page += 2) client_[page * kPage] = 9;
  Write(2);
  Drop();
  CHECK(Count(2) == kPages);
}

SUITE_CASE(PrivatePagesTest,
           "A drop of private pages shows fresh content after writing all",
           "[shm][private_pages]") {
  memset(client_, 9, kBytes);
  Write(2);
  Drop();
  CHECK(Count(2) == kPages);
}

SUITE_CASE(PrivatePagesTest,
           "A drop of private pages finds writes time and again",
           "[shm][private_pages]") {
  for (int round = 2; round < 9; ++round) {
    Drop();
    Write(round);
    CAPTURE(round);
    REQUIRE(Count(round) == kPages);
    // The rounds write to one page, then to some pages, then to most, and then
    // to the first one again.
    for (size_t page = 0; page < kPages; page += kPages >> (round % 4 * 2))
      client_[page * kPage + 5] = 0;
    Write(99);
    REQUIRE(Count(99) < kPages);
  }
}

SUITE_CASE(PrivatePagesTest,
           "A drop of private pages finds what the kernel wrote",
           "[shm][private_pages]") {
  const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  REQUIRE(read(zeros, client_ + 2 * kPage, kPage + 9) == kPage + 9);
  close(zeros);
  REQUIRE(Count(1) == kPages - 2);
  Write(2);
  REQUIRE(Count(2) == kPages - 2);
  Drop();
  CHECK(Count(2) == kPages);
}

SUITE_CASE(PrivatePagesTest,
           "A drop of private pages finds what was written around a fork",
           "[shm][private_pages]") {
  client_[5] = 9;
  const pid_t child = fork();
  if (child == 0) {
    client_[kPage + 5] = 8;
    _exit(client_[5] == 9 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  client_[5] = 7;
  client_[2 * kPage + 5] = 7;
  Write(2);
  REQUIRE(Count(2) == kPages - 2);
  Drop();
  CHECK(Count(2) == kPages);
}

SUITE_CASE(PrivatePagesTest,
           "A drop of private pages drops pages that were locked",
           "[shm][private_pages]") {
  if (mlock(client_, kBytes) != 0) SKIP("locking is not allowed");
  client_[5] = 9;
  Write(2);
  Drop();
  CHECK(Count(2) == kPages);
}

SUITE_CASE(PrivatePagesTest, "A drop of private pages keeps mappings apart",
           "[shm][private_pages]") {
  std::uint8_t* const other = Map(MAP_PRIVATE);
  pages_->Watch(other, kBytes);
  client_[5] = 8;
  other[5] = 9;
  Drop();
  CHECK(client_[5] == 1);
  CHECK(other[5] == 9);
  pages_->Drop(other, kBytes);
  CHECK(other[5] == 1);
  munmap(other, kBytes);
}

SUITE_CASE(PrivatePagesTest,
           "A drop of private pages leaves what was only read",
           "[shm][private_pages]") {
  REQUIRE(Count(1) == kPages);
  Drop();
  CHECK(Count(1) == kPages);
  Write(2);
  CHECK(Count(2) == kPages);
}

SUITE_CASE(PrivatePagesTest,
           "A mapping whose pages are made private stays as it was",
           "[shm][private_pages]") {
  client_[5] = 9;
  MakePagesPrivate(client_, kBytes);
  Write(2);
  CHECK(client_[5] == 9);
  CHECK(Count(1) == kPages - 1);
  Drop();
  CHECK(Count(2) == kPages);
}

const tests::RunsOn<PrivatePagesTest> kSearches(
    {{"scan", {PageSearch::kScan, false}},
     {"scan of huge pages", {PageSearch::kScan, true}},
     {"pagemap", {PageSearch::kPagemap, false}},
     {"pagemap of huge pages", {PageSearch::kPagemap, true}},
     {"none", {PageSearch::kNone, false}},
     {"none of huge pages", {PageSearch::kNone, true}}});

TEST_CASE("Private pages take the first page search that the kernel grants",
          "[shm][private_pages]") {
  for (const PageSearch search : {PageSearch::kScan, PageSearch::kPagemap}) {
    if (PrivatePages::Create(search) == nullptr) continue;
    CHECK(PrivatePages::Create()->search() == search);
    return;
  }
  CHECK(PrivatePages::Create()->search() == PageSearch::kNone);
}

}  // namespace
}  // namespace forebay::client::shm

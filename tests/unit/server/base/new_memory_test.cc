#include "server/base/new_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/unit/server/base/no_threads.h"

namespace forebay::base {
namespace {

constexpr std::uint64_t kBytes = (std::uint64_t{64} << 20) + 12345;

// Memory that nothing has touched, from a page's begin on.
class Untouched {
 public:
  Untouched()
      : start_(static_cast<std::uint8_t*>(
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    EXPECT_NE(start_, MAP_FAILED);
  }
  ~Untouched() { munmap(start_, kBytes); }
  Untouched(const Untouched&) = delete;
  Untouched& operator=(const Untouched&) = delete;

  std::uint8_t* start() { return start_; }

  std::uint64_t Pages() const {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    return (kBytes + page - 1) / page;
  }

  // How many of its pages are in memory.
  std::uint64_t Present() const {
    std::vector<unsigned char> pages(Pages());
    EXPECT_EQ(mincore(start_, kBytes, pages.data()), 0);
    return static_cast<std::uint64_t>(
        std::count_if(pages.begin(), pages.end(),
                      [](unsigned char one) { return (one & 1) != 0; }));
  }

 private:
  std::uint8_t* start_;
};

TEST(NewMemoryTest, PutsPagesUnderAllThatIsWhole) {
  Untouched memory;
  ASSERT_EQ(memory.Present(), 0);
  PutPagesUnder(memory.start() + 1, kBytes - 1);
  // The first page and the last are in part of something else.
  EXPECT_GE(memory.Present(), memory.Pages() - 2);
}

TEST(NewMemoryTest, LeavesWhatIsThere) {
  Untouched memory;
  std::memset(memory.start() + kBytes / 2, 7, kBytes / 4);
  PutPagesUnder(memory.start(), kBytes);
  EXPECT_EQ(std::count(memory.start(), memory.start() + kBytes, 7), kBytes / 4);
  EXPECT_EQ(std::count(memory.start(), memory.start() + kBytes, 0),
            kBytes - kBytes / 4);
}

TEST(NewMemoryTest, ManagesWithoutThreads) {
  const NoThreads none;
  Untouched memory;
  PutPagesUnder(memory.start(), kBytes);
  EXPECT_GE(memory.Present(), memory.Pages() - 1);
}

TEST(NewMemoryTest, LeavesLittleMemoryToWhoFillsIt) {
  Untouched memory;
  PutPagesUnder(memory.start(), std::uint64_t{1} << 20);
  EXPECT_EQ(memory.Present(), 0);
}

}  // namespace
}  // namespace forebay::base

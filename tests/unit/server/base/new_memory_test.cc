#include "server/base/new_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/unit/server/base/no_threads.h"

namespace forebay::base {
namespace {

constexpr std::uint64_t kBytes = (std::uint64_t{64} << 20) + 12345;

// Memory that nobody has touched. It begins at the beginning of a page.
class Untouched {
 public:
  Untouched()
      : start_(static_cast<std::uint8_t*>(
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    CHECK(start_ != MAP_FAILED);
  }
  ~Untouched() { munmap(start_, kBytes); }
  Untouched(const Untouched&) = delete;
  Untouched& operator=(const Untouched&) = delete;

  std::uint8_t* start() { return start_; }

  std::uint64_t Pages() const {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    return (kBytes + page - 1) / page;
  }

  // Returns how many of the pages are in memory.
  std::uint64_t Present() const {
    std::vector<unsigned char> pages(Pages());
    CHECK(mincore(start_, kBytes, pages.data()) == 0);
    return static_cast<std::uint64_t>(
        std::count_if(pages.begin(), pages.end(),
                      [](unsigned char one) { return (one & 1) != 0; }));
  }

 private:
  std::uint8_t* start_;
};

TEST_CASE("New memory gets pages under all that is whole",
          "[base][new_memory]") {
  Untouched memory;
  REQUIRE(memory.Present() == 0);
  PutPagesUnder(memory.start() + 1, kBytes - 1);
  // The first page and the last page lie partly outside of the range, and get
  // no memory.
  CHECK(memory.Present() >= memory.Pages() - 2);
}

TEST_CASE("New memory keeps what is there when it gets pages",
          "[base][new_memory]") {
  Untouched memory;
  std::memset(memory.start() + kBytes / 2, 7, kBytes / 4);
  PutPagesUnder(memory.start(), kBytes);
  CHECK(std::count(memory.start(), memory.start() + kBytes, 7) == kBytes / 4);
  CHECK(std::count(memory.start(), memory.start() + kBytes, 0) ==
        kBytes - kBytes / 4);
}

TEST_CASE("New memory gets its pages also without threads",
          "[base][new_memory]") {
  const NoThreads none;
  Untouched memory;
  PutPagesUnder(memory.start(), kBytes);
  CHECK(memory.Present() >= memory.Pages() - 1);
}

TEST_CASE("New memory that is little is left to who fills it",
          "[base][new_memory]") {
  Untouched memory;
  PutPagesUnder(memory.start(), std::uint64_t{1} << 20);
  CHECK(memory.Present() == 0);
}

}  // namespace
}  // namespace forebay::base

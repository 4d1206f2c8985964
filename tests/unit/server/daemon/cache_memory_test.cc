#include "server/daemon/cache_memory.h"

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::daemon {
namespace {

using tests::HasCode;

constexpr std::uint64_t kMiB = 1 << 20;

TEST_CASE(
    "The cache memory setting takes sizes and shares and refuses other texts",
    "[daemon][cache_memory]") {
  CHECK(*CacheMemory("64MiB", 100 * kMiB) == 64 * kMiB);
  CHECK(*CacheMemory("25%", 100 * kMiB) == 25 * kMiB);
  CHECK(*CacheMemory("0", 100 * kMiB) == 0);
  CHECK(*CacheMemory("0%", 100 * kMiB) == 0);
  // A size above the host's memory is a valid setting; the memory budget
  // refuses it.
  CHECK(*CacheMemory("200MiB", 100 * kMiB) == 200 * kMiB);
  for (const char* text : {"", "much", "1", "-1B", "101%", "automatic"}) {
    CAPTURE(text);
    CHECK_THAT(CacheMemory(text, kMiB),
               HasCode(absl::StatusCode::kInvalidArgument));
  }
}

TEST_CASE("Automatic cache memory leaves room for loaders",
          "[daemon][cache_memory]") {
  CHECK(*CacheMemory("auto", 16'384 * kMiB) == 4'096 * kMiB);
  CHECK(*CacheMemory("auto", 1'024 * kMiB) == 256 * kMiB);
  CHECK(*CacheMemory("auto", 600 * kMiB) == 88 * kMiB);
  CHECK(*CacheMemory("auto", 512 * kMiB) == 0);
  CHECK(*CacheMemory("auto", 0) == 0);
}

}  // namespace
}  // namespace forebay::daemon

#include "server/storage/local/crossings.h"

#include <cstddef>
#include <string>

#include "tests/catch/catch.h"

namespace forebay::storage::local {
namespace {

TEST_CASE("Crossings know directories whose files lie on another file system",
          "[local][crossings]") {
  Crossings crossings;
  CHECK_FALSE(crossings.Contains("a/x"));
  crossings.Add("a/x");
  CHECK(crossings.Contains("a/x"));
  CHECK(crossings.Contains("a/y"));
  CHECK_FALSE(crossings.Contains("a/b/y"));
  CHECK_FALSE(crossings.Contains("y"));
  crossings.Add("x");
  CHECK(crossings.Contains("y"));
}

TEST_CASE("All directories count as crossings where too many are",
          "[local][crossings]") {
  Crossings crossings;
  for (std::size_t i = 0; i < Crossings::kMost; ++i) {
    CHECK_FALSE(crossings.Contains("other/x"));
    crossings.Add(std::to_string(i) + "/x");
  }
  CHECK(crossings.Contains("other/x"));
  CHECK(crossings.Contains("0/x"));
}

}  // namespace
}  // namespace forebay::storage::local

#include "server/dataset/shards/sample_name.h"

#include <optional>
#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/unit/server/dataset/shards/golden_shards.h"

namespace forebay::dataset::shards {
namespace {

TEST_CASE("A sample name is taken apart as webdataset does",
          "[shards][sample_name]") {
  int without_sample = 0;
  for (const std::vector<std::string>& row : GoldenRows("names.txt")) {
    const auto name = SplitSampleName(row[0]);
    UNSCOPED_INFO(row[0]);
    REQUIRE(name.has_value() == (row.size() > 1));
    if (!name.has_value()) {
      ++without_sample;
      continue;
    }
    UNSCOPED_INFO(row[0]);
    CHECK(name->key == row[1]);
    UNSCOPED_INFO(row[0]);
    CHECK(name->extension == row[2]);
  }
  CHECK(without_sample > 50);
}

TEST_CASE("A sample name has only its extension lowered",
          "[shards][sample_name]") {
  const auto name = SplitSampleName("Train/A.Left.JPG");
  REQUIRE(name.has_value());
  CHECK(name->key == "Train/A");
  CHECK(name->extension == "left.jpg");
}

}  // namespace
}  // namespace forebay::dataset::shards

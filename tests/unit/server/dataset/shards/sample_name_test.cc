#include "server/dataset/shards/sample_name.h"

#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/server/dataset/shards/golden_shards.h"

namespace forebay::dataset::shards {
namespace {

TEST(SampleNameTest, TakesNamesApartAsWebdatasetDoes) {
  int without_sample = 0;
  for (const std::vector<std::string>& row : GoldenRows("names.txt")) {
    const auto name = SplitSampleName(row[0]);
    ASSERT_EQ(name.has_value(), row.size() > 1) << row[0];
    if (!name.has_value()) {
      ++without_sample;
      continue;
    }
    EXPECT_EQ(name->key, row[1]) << row[0];
    EXPECT_EQ(name->extension, row[2]) << row[0];
  }
  EXPECT_GT(without_sample, 50);
}

TEST(SampleNameTest, LowersExtensionsAlone) {
  const auto name = SplitSampleName("Train/A.Left.JPG");
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->key, "Train/A");
  EXPECT_EQ(name->extension, "left.jpg");
}

}  // namespace
}  // namespace forebay::dataset::shards

#include "server/storage/http/entity_tags.h"

#include <gtest/gtest.h>

#include <string>

namespace forebay::storage::http {
namespace {

TEST(EntityTagsTest, FindsTagsByTheirStamps) {
  EntityTags tags;
  tags.Add("a");
  tags.Add("9b2cf535f27731c974343645a3985328-17");
  EXPECT_EQ(tags.Find(StampOfTag("a")), "a");
  EXPECT_EQ(tags.Find(StampOfTag("9b2cf535f27731c974343645a3985328-17")),
            "9b2cf535f27731c974343645a3985328-17");
  EXPECT_EQ(tags.Find(StampOfTag("b")), "");
  EXPECT_EQ(tags.Find(0), "");
  EXPECT_EQ(tags.Find(-1), "");
}

TEST(EntityTagsTest, ForgetsOneForAnother) {
  EntityTags tags(1);
  tags.Add("a");
  tags.Add("b");
  EXPECT_EQ(tags.Find(StampOfTag("a")), "");
  EXPECT_EQ(tags.Find(StampOfTag("b")), "b");
  tags.Add(std::string(EntityTags::kMaxBytes + 1, 'c'));
  EXPECT_EQ(tags.Find(StampOfTag("b")), "b");
}

}  // namespace
}  // namespace forebay::storage::http

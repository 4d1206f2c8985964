#include "server/storage/local/warmth.h"

#include <gtest/gtest.h>

namespace forebay::storage::local {
namespace {

// How many of `reads` asked, where `held` in a hundred are in the cache.
int Asked(Warmth* warmth, int reads, int held) {
  int asked = 0;
  for (int i = 0; i < reads; ++i) {
    if (!warmth->Ask()) continue;
    ++asked;
    warmth->Saw(i * 37 % 100 < held);
  }
  return asked;
}

TEST(WarmthTest, AsksAsLongAsItHelps) {
  Warmth warmth;
  EXPECT_EQ(Asked(&warmth, 1000, 100), 1000);
  EXPECT_EQ(Asked(&warmth, 1000, 50), 1000);
}

TEST(WarmthTest, AsksNowAndThenWhereNothingIsHeld) {
  Warmth warmth;
  EXPECT_LT(Asked(&warmth, 100, 0), 50);
  EXPECT_EQ(Asked(&warmth, 6400, 0), 100);
}

TEST(WarmthTest, NoticesThatTheCacheHasFilled) {
  Warmth warmth;
  Asked(&warmth, 1000, 0);
  Asked(&warmth, 300, 100);
  EXPECT_EQ(Asked(&warmth, 1000, 100), 1000);
}

}  // namespace
}  // namespace forebay::storage::local

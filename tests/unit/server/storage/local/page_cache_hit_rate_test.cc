#include "server/storage/local/page_cache_hit_rate.h"

#include <gtest/gtest.h>

namespace forebay::storage::local {
namespace {

// Makes `reads` reads; `held` in a hundred are in the cache. Returns how many
// asked.
int Asked(PageCacheHitRate* page_cache_hit_rate, int reads, int held) {
  int asked = 0;
  for (int i = 0; i < reads; ++i) {
    if (!page_cache_hit_rate->Ask()) continue;
    ++asked;
    page_cache_hit_rate->Saw(i * 37 % 100 < held);
  }
  return asked;
}

TEST(PageCacheHitRateTest, AsksAsLongAsItHelps) {
  PageCacheHitRate page_cache_hit_rate;
  EXPECT_EQ(Asked(&page_cache_hit_rate, 1000, 100), 1000);
  EXPECT_EQ(Asked(&page_cache_hit_rate, 1000, 50), 1000);
}

TEST(PageCacheHitRateTest, AsksNowAndThenWhereNothingIsHeld) {
  PageCacheHitRate page_cache_hit_rate;
  EXPECT_LT(Asked(&page_cache_hit_rate, 100, 0), 50);
  EXPECT_EQ(Asked(&page_cache_hit_rate, 6400, 0), 100);
}

TEST(PageCacheHitRateTest, NoticesThatTheCacheHasFilled) {
  PageCacheHitRate page_cache_hit_rate;
  Asked(&page_cache_hit_rate, 1000, 0);
  Asked(&page_cache_hit_rate, 300, 100);
  EXPECT_EQ(Asked(&page_cache_hit_rate, 1000, 100), 1000);
}

}  // namespace
}  // namespace forebay::storage::local

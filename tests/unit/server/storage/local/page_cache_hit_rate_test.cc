#include "server/storage/local/page_cache_hit_rate.h"

#include "tests/catch/catch.h"

namespace forebay::storage::local {
namespace {

// Makes `reads` reads. Of each hundred, `held` are in the page cache. Returns
// how many reads first looked into the cache.
int Asked(PageCacheHitRate* page_cache_hit_rate, int reads, int held) {
  int asked = 0;
  for (int i = 0; i < reads; ++i) {
    if (!page_cache_hit_rate->Ask()) continue;
    ++asked;
    page_cache_hit_rate->Saw(i * 37 % 100 < held);
  }
  return asked;
}

TEST_CASE("The page cache is asked as long as it helps",
          "[local][page_cache_hit_rate]") {
  PageCacheHitRate page_cache_hit_rate;
  CHECK(Asked(&page_cache_hit_rate, 1000, 100) == 1000);
  CHECK(Asked(&page_cache_hit_rate, 1000, 50) == 1000);
}

TEST_CASE("The page cache is asked only now and then where it holds nothing",
          "[local][page_cache_hit_rate]") {
  PageCacheHitRate page_cache_hit_rate;
  CHECK(Asked(&page_cache_hit_rate, 100, 0) < 50);
  CHECK(Asked(&page_cache_hit_rate, 6400, 0) == 100);
}

TEST_CASE("The page cache hit rate notices that the cache has filled",
          "[local][page_cache_hit_rate]") {
  PageCacheHitRate page_cache_hit_rate;
  Asked(&page_cache_hit_rate, 1000, 0);
  Asked(&page_cache_hit_rate, 300, 100);
  CHECK(Asked(&page_cache_hit_rate, 1000, 100) == 1000);
}

}  // namespace
}  // namespace forebay::storage::local

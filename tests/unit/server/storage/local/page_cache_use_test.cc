#include "server/storage/local/page_cache_use.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/unit/server/storage/fake_root.h"

namespace forebay::storage::local {
namespace {

constexpr int kFiles = 4000;
constexpr std::uint64_t kFileBytes = 50'000;

class PageCacheUseTest : public ::testing::Test {
 protected:
  // Reads an epoch while the cache holds nothing. Returns how many reads went
  // through it.
  int Epoch(std::uint64_t job = 1) {
    int through = 0;
    for (int i = 0; i < kFiles; ++i) {
      ReadRequest request;
      request.root = root_;
      request.object = std::to_string(i);
      request.length = kFileBytes;
      request.purpose.job = job;
      if (!use_.Wants(request)) continue;
      ++through;
      use_.Saw(job, false);
    }
    return through;
  }

  const std::shared_ptr<const Root> root_ =
      FakeRoot::Make({.uri = "somewhere"});
  std::uint64_t room_ = 0;
  PageCacheUse use_{[this] { return room_; }};
};

TEST_F(PageCacheUseTest, UsesTheCacheWhereAllFits) {
  room_ = kFiles * kFileBytes * 6 / 5;
  for (int epoch = 0; epoch < 3; ++epoch) EXPECT_EQ(Epoch(), kFiles);
  // Another job that reads the same needs no more room.
  EXPECT_EQ(Epoch(2), kFiles);
}

TEST_F(PageCacheUseTest, SparesTheCacheWhatDoesNotFit) {
  room_ = kFiles * kFileBytes / 2;
  Epoch();
  EXPECT_LT(Epoch(), kFiles / 8);
  // Memory became free.
  room_ = kFiles * kFileBytes * 2;
  Epoch();
  EXPECT_EQ(Epoch(), kFiles);
}

TEST_F(PageCacheUseTest, ForgetsWithTheJob) {
  room_ = kFiles * kFileBytes / 2;
  Epoch();
  use_.Forget(1);
  EXPECT_GT(Epoch(), kFiles / 4);
}

}  // namespace
}  // namespace forebay::storage::local

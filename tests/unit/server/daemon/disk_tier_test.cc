#include "server/daemon/disk_tier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "server/base/clock.h"
#include "server/base/memory_budget.h"
#include "server/cache/next_use_registry.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::daemon {
namespace {

using ::testing::HasSubstr;

class DiskTierTest : public testing::Test {
 protected:
  cache::disk::DiskCache::Deps Deps() {
    return {.below = &below_,
            .budget = &budget_,
            .next_use = &next_use_registry_,
            .clock = base::Clock::Monotonic()};
  }
  proto::CacheConfig Config(const std::string& directory) {
    proto::CacheConfig config;
    config.set_directory(directory);
    config.set_disk_size("64MiB");
    return config;
  }

  const storage::local::ScratchDir scratch_;
  storage::MemorySource below_;
  base::MemoryBudget budget_{std::uint64_t{1} << 30};
  cache::NextUseRegistry next_use_registry_;
};

TEST_F(DiskTierTest, ThereIsNoneUnlessOneIsWanted) {
  DiskTier tier(proto::CacheConfig(), Deps());
  EXPECT_EQ(tier.source(), &below_);
  EXPECT_FALSE(tier.Snapshot().has_value());
  EXPECT_EQ(tier.refusal(), "");
  EXPECT_EQ(budget_.used(), 0);
  tier.Stop();
}

TEST_F(DiskTierTest, KeepsWhatItsDirectoryHasRoomFor) {
  DiskTier tier(Config(scratch_.Path("tier")), Deps());
  EXPECT_NE(tier.source(), &below_);
  ASSERT_TRUE(tier.Snapshot().has_value());
  EXPECT_EQ(tier.Snapshot()->capacity, 64 << 20);
  EXPECT_EQ(tier.refusal(), "");
  tier.Stop();
}

TEST_F(DiskTierTest, WithoutItsDirectoryReadsGoOnBelow) {
  const std::string path = scratch_.Path("tier");
  const DiskTier first(Config(path), Deps());
  DiskTier second(Config(path), Deps());
  EXPECT_EQ(second.source(), &below_);
  EXPECT_FALSE(second.Snapshot().has_value());
  EXPECT_THAT(second.refusal(), HasSubstr("another forebayd"));
  EXPECT_THAT(second.refusal(), HasSubstr(path));
  std::filesystem::create_directory(scratch_.Path("open"));
  std::filesystem::permissions(scratch_.Path("open"),
                               std::filesystem::perms(0755));
  EXPECT_THAT(DiskTier(Config(scratch_.Path("open")), Deps()).refusal(),
              HasSubstr("open to others"));
}

TEST_F(DiskTierTest, WithoutMemoryForItReadsGoOnBelow) {
  const auto rest = *budget_.Reserve((std::uint64_t{1} << 30) - 1000, "a test");
  DiskTier tier(Config(scratch_.Path("tier")), Deps());
  EXPECT_EQ(tier.source(), &below_);
  EXPECT_THAT(tier.refusal(), HasSubstr("cache on disk"));
}

}  // namespace
}  // namespace forebay::daemon

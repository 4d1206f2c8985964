#include "server/daemon/disk_tier.h"

#include <filesystem>

#include "server/base/clock.h"
#include "server/base/memory_budget.h"
#include "server/cache/next_use_registry.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::daemon {
namespace {

using tests::Contains;

class DiskTierTest {
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

TEST_CASE_METHOD(DiskTierTest,
                 "The daemon makes no disk tier unless one is wanted",
                 "[daemon][disk_tier]") {
  DiskTier tier(proto::CacheConfig(), Deps());
  CHECK(tier.source() == &below_);
  CHECK_FALSE(tier.Snapshot().has_value());
  CHECK_THAT(tier.refusal(), Catch::Equals(""));
  CHECK(budget_.used() == 0);
  tier.Stop();
}

TEST_CASE_METHOD(
    DiskTierTest,
    "The disk tier has room in its directory for the configured size",
    "[daemon][disk_tier]") {
  DiskTier tier(Config(scratch_.Path("tier")), Deps());
  CHECK(tier.source() != &below_);
  REQUIRE(tier.Snapshot().has_value());
  CHECK(tier.Snapshot()->capacity == 64 << 20);
  CHECK_THAT(tier.refusal(), Catch::Equals(""));
  tier.Stop();
}

TEST_CASE_METHOD(
    DiskTierTest,
    "Reads go on below the disk tier where its directory is refused",
    "[daemon][disk_tier]") {
  const std::string path = scratch_.Path("tier");
  const DiskTier first(Config(path), Deps());
  DiskTier second(Config(path), Deps());
  CHECK(second.source() == &below_);
  CHECK_FALSE(second.Snapshot().has_value());
  CHECK_THAT(second.refusal(), Contains("another forebayd"));
  CHECK_THAT(second.refusal(), Contains(path));
  std::filesystem::create_directory(scratch_.Path("open"));
  std::filesystem::permissions(scratch_.Path("open"),
                               std::filesystem::perms(0755));
  CHECK_THAT(DiskTier(Config(scratch_.Path("open")), Deps()).refusal(),
             Contains("open to others"));
}

TEST_CASE_METHOD(DiskTierTest,
                 "Reads go on below the disk tier where it has no memory",
                 "[daemon][disk_tier]") {
  const auto rest = *budget_.Reserve((std::uint64_t{1} << 30) - 1000, "a test");
  DiskTier tier(Config(scratch_.Path("tier")), Deps());
  CHECK(tier.source() == &below_);
  CHECK_THAT(tier.refusal(), Contains("cache on disk"));
}

}  // namespace
}  // namespace forebay::daemon

#include "server/stream/staging_pool.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/unit/server/device/fake_device.h"

namespace forebay::stream {
namespace {

constexpr std::uint64_t kBytes = 4096;

class StagingPoolTest : public ::testing::Test {
 protected:
  void Fill() {
    std::vector<StagingPool::Memory> made;
    while (made.size() < pool_.missing())
      made.push_back(*device::StagingMemory::Create(device_.gpu, -1, kBytes));
    pool_.Add(&made);
  }

  device::FakeDevice device_{0};
  base::MemoryBudget budget_{4 * kBytes};
  StagingPool pool_{&budget_, kBytes};
};

TEST_F(StagingPoolTest, MembersPay) {
  ASSERT_TRUE(pool_.Pay(3).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(pool_.Pay(2)));
  EXPECT_EQ(budget_.used(), 3 * kBytes);
  EXPECT_EQ(pool_.missing(), 3);
  Fill();
  EXPECT_EQ(pool_.missing(), 0);
  pool_.EndPay(2);
  EXPECT_EQ(pool_.Trim(/*all=*/false).size(), 2);
  EXPECT_EQ(budget_.used(), kBytes);
  EXPECT_EQ(pool_.Trim(/*all=*/true).size(), 1);
  EXPECT_EQ(budget_.used(), kBytes) << "the member still pays";
  EXPECT_EQ(pool_.missing(), 1);
}

TEST_F(StagingPoolTest, ALeaseEndsOnce) {
  ASSERT_TRUE(pool_.Pay(1).ok());
  Fill();
  {
    StagingPool::Lease lease = pool_.Take();
    EXPECT_FALSE(pool_.HasFree());
    StagingPool::Lease moved = std::move(lease);
    lease = std::move(moved);
    EXPECT_NE(lease.data(), nullptr);
    EXPECT_EQ(pool_.missing(), 0);
  }
  EXPECT_TRUE(pool_.HasFree());
}

// Those that are leased may come back late.
TEST_F(StagingPoolTest, TrimLeavesAsMuchFreeAsIsPaidFor) {
  ASSERT_TRUE(pool_.Pay(4).ok());
  Fill();
  const StagingPool::Lease first = pool_.Take();
  const StagingPool::Lease second = pool_.Take();
  pool_.EndPay(2);
  EXPECT_TRUE(pool_.Trim(/*all=*/false).empty());
  EXPECT_EQ(budget_.used(), 4 * kBytes);
}

TEST_F(StagingPoolTest, GrowsByWhatIsMissing) {
  EXPECT_FALSE(pool_.Grow()) << "nobody pays";
  ASSERT_TRUE(pool_.Pay(1).ok());
  EXPECT_TRUE(pool_.Grow());
  EXPECT_FALSE(pool_.Grow()) << "it is being made";
  std::vector<StagingPool::Memory> none;
  pool_.Grown(&none);
  EXPECT_FALSE(pool_.Grow()) << "it could not be made";
  pool_.TryAgain();
  ASSERT_TRUE(pool_.Grow());
  std::vector<StagingPool::Memory> made = {
      *device::StagingMemory::Create(device_.gpu, -1, kBytes)};
  pool_.Grown(&made);
  EXPECT_TRUE(pool_.HasFree());
  EXPECT_FALSE(pool_.Grow());
}

TEST_F(StagingPoolTest, WhatAGpuPinnedGoesWithIt) {
  ASSERT_TRUE(pool_.Pay(2).ok());
  Fill();
  EXPECT_TRUE(pool_.RemovePinnedBy(nullptr).empty());
  EXPECT_EQ(pool_.RemovePinnedBy(device_.gpu.get()).size(), 2);
  EXPECT_EQ(pool_.missing(), 2);
}

TEST_F(StagingPoolTest, WhatIsDiscardedIsMissing) {
  ASSERT_TRUE(pool_.Pay(1).ok());
  Fill();
  {
    StagingPool::Lease lease = pool_.Take();
    const StagingPool::Memory kept = lease.memory();
    lease.Discard();
    lease.Discard();
    EXPECT_EQ(lease.data(), nullptr);
    EXPECT_EQ(kept.use_count(), 1);
  }
  EXPECT_FALSE(pool_.HasFree());
  EXPECT_EQ(pool_.missing(), 1);
}

}  // namespace
}  // namespace forebay::stream

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
  EXPECT_EQ(pool_.Grow(), 0) << "nobody pays";
  ASSERT_TRUE(pool_.Pay(2).ok());
  EXPECT_EQ(pool_.Grow(), 2);
  EXPECT_EQ(pool_.Grow(), 0) << "it is being made";
  EXPECT_EQ(pool_.missing(), 0) << "nobody else is to make it";
  std::vector<StagingPool::Memory> none;
  pool_.Grown(2, &none);
  EXPECT_EQ(pool_.missing(), 2);
  EXPECT_EQ(pool_.Grow(), 0) << "it could not be made";
  pool_.TryAgain();
  ASSERT_EQ(pool_.Grow(), 2);
  std::vector<StagingPool::Memory> made = {
      *device::StagingMemory::Create(device_.gpu, -1, kBytes)};
  pool_.Grown(2, &made);
  EXPECT_TRUE(pool_.HasFree());
  EXPECT_EQ(pool_.Grow(), 1) << "one is missing still";
}

TEST_F(StagingPoolTest, LentMemoryCountsUntilItComesBack) {
  StagingPool pool(&budget_, kBytes, /*lingers=*/true);
  ASSERT_TRUE(pool.Pay(3).ok());
  ASSERT_EQ(pool.BeginMaking(), 3);
  auto lent = pool.TakeLent(3);
  ASSERT_EQ(lent.size(), 3);
  std::vector<StagingPool::Memory> made;
  for (int i = 0; i < 2; ++i)
    made.push_back(*device::StagingMemory::Create(device_.gpu, -1, kBytes));
  pool.EndMaking(3, &made);
  EXPECT_TRUE(made.empty()) << "all are taken";
  EXPECT_EQ(pool.missing(), 0) << "the third may be mapped still";
  pool.TakeBack(std::move(lent.back()));
  lent.pop_back();
  EXPECT_EQ(pool.missing(), 1);
  pool.EndPay(3);
  EXPECT_EQ(pool.Trim(/*all=*/true).size(), 2);
  EXPECT_EQ(budget_.used(), 2 * kBytes);
  pool.TakeBack(std::move(lent.back()));
  EXPECT_EQ(budget_.used(), kBytes);
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

#include "server/stream/staging_pool.h"

#include <utility>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/device/fake_device.h"

namespace forebay::stream {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr std::uint64_t kBytes = 4096;

class StagingPoolTest {
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

TEST_CASE_METHOD(StagingPoolTest,
                 "Members pay for the memory of a staging pool",
                 "[stream][staging_pool]") {
  REQUIRE_THAT(pool_.Pay(3), IsOk());
  CHECK_THAT(pool_.Pay(2), HasCode(absl::StatusCode::kResourceExhausted));
  CHECK(budget_.used() == 3 * kBytes);
  CHECK(pool_.missing() == 3);
  Fill();
  CHECK(pool_.missing() == 0);
  pool_.EndPay(2);
  CHECK(pool_.Trim(/*all=*/false).size() == 2);
  CHECK(budget_.used() == kBytes);
  CHECK(pool_.Trim(/*all=*/true).size() == 1);
  UNSCOPED_INFO("the member still pays");
  CHECK(budget_.used() == kBytes);
  CHECK(pool_.missing() == 1);
}

TEST_CASE_METHOD(StagingPoolTest, "A lease of staging memory ends once",
                 "[stream][staging_pool]") {
  REQUIRE_THAT(pool_.Pay(1), IsOk());
  Fill();
  {
    StagingPool::Lease lease = pool_.Take();
    CHECK_FALSE(pool_.HasFree());
    StagingPool::Lease moved = std::move(lease);
    lease = std::move(moved);
    CHECK(lease.data() != nullptr);
    CHECK(pool_.missing() == 0);
  }
  CHECK(pool_.HasFree());
}

// Leased staging memory may be returned late.
TEST_CASE_METHOD(
    StagingPoolTest,
    "The trim of a staging pool leaves as much free as is paid for",
    "[stream][staging_pool]") {
  REQUIRE_THAT(pool_.Pay(4), IsOk());
  Fill();
  const StagingPool::Lease first = pool_.Take();
  const StagingPool::Lease second = pool_.Take();
  pool_.EndPay(2);
  CHECK(pool_.Trim(/*all=*/false).empty());
  CHECK(budget_.used() == 4 * kBytes);
}

TEST_CASE_METHOD(StagingPoolTest, "A staging pool grows by what is missing",
                 "[stream][staging_pool]") {
  UNSCOPED_INFO("nobody pays");
  CHECK(pool_.Grow() == 0);
  REQUIRE_THAT(pool_.Pay(2), IsOk());
  CHECK(pool_.Grow() == 2);
  UNSCOPED_INFO("it is being made");
  CHECK(pool_.Grow() == 0);
  UNSCOPED_INFO("nobody else is to make it");
  CHECK(pool_.missing() == 0);
  std::vector<StagingPool::Memory> none;
  pool_.Grown(2, &none);
  CHECK(pool_.missing() == 2);
  UNSCOPED_INFO("it could not be made");
  CHECK(pool_.Grow() == 0);
  pool_.TryAgain();
  REQUIRE(pool_.Grow() == 2);
  std::vector<StagingPool::Memory> made = {
      *device::StagingMemory::Create(device_.gpu, -1, kBytes)};
  pool_.Grown(2, &made);
  CHECK(pool_.HasFree());
  UNSCOPED_INFO("one is missing still");
  CHECK(pool_.Grow() == 1);
}

TEST_CASE_METHOD(StagingPoolTest,
                 "Lent staging memory counts until it comes back",
                 "[stream][staging_pool]") {
  StagingPool pool(&budget_, kBytes, /*lingers=*/true);
  REQUIRE_THAT(pool.Pay(3), IsOk());
  REQUIRE(pool.BeginMaking() == 3);
  auto lent = pool.TakeLent(3);
  REQUIRE(lent.size() == 3);
  std::vector<StagingPool::Memory> made;
  for (int i = 0; i < 2; ++i)
    made.push_back(*device::StagingMemory::Create(device_.gpu, -1, kBytes));
  pool.EndMaking(3, &made);
  UNSCOPED_INFO("all are taken");
  CHECK(made.empty());
  UNSCOPED_INFO("the third may be mapped still");
  CHECK(pool.missing() == 0);
  pool.TakeBack(std::move(lent.back()));
  lent.pop_back();
  CHECK(pool.missing() == 1);
  pool.EndPay(3);
  CHECK(pool.Trim(/*all=*/true).size() == 2);
  CHECK(budget_.used() == 2 * kBytes);
  pool.TakeBack(std::move(lent.back()));
  CHECK(budget_.used() == kBytes);
}

TEST_CASE_METHOD(StagingPoolTest,
                 "Staging memory that a GPU pinned goes with the GPU",
                 "[stream][staging_pool]") {
  REQUIRE_THAT(pool_.Pay(2), IsOk());
  Fill();
  CHECK(pool_.RemovePinnedBy(nullptr).empty());
  CHECK(pool_.RemovePinnedBy(device_.gpu.get()).size() == 2);
  CHECK(pool_.missing() == 2);
}

TEST_CASE_METHOD(StagingPoolTest, "Staging memory that is discarded is missing",
                 "[stream][staging_pool]") {
  REQUIRE_THAT(pool_.Pay(1), IsOk());
  Fill();
  {
    StagingPool::Lease lease = pool_.Take();
    const StagingPool::Memory kept = lease.memory();
    lease.Discard();
    lease.Discard();
    CHECK(lease.data() == nullptr);
    CHECK(kept.use_count() == 1);
  }
  CHECK_FALSE(pool_.HasFree());
  CHECK(pool_.missing() == 1);
}

}  // namespace
}  // namespace forebay::stream

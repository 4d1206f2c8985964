#include "server/arena/slot_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace forebay::arena {
namespace {

constexpr std::uint64_t kSlotBytes = 4096;

SlotPool MakePool(std::uint32_t slots) {
  auto pool = SlotPool::Create(slots, kSlotBytes);
  EXPECT_TRUE(pool.ok()) << pool.status();
  return *std::move(pool);
}

TEST(SlotPoolTest, GoesFromFreeOverFillingToLeasedAndBack) {
  SlotPool pool = MakePool(2);
  const auto first = pool.Take();
  const auto second = pool.Take();
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_NE(*first, *second);
  EXPECT_FALSE(pool.Take().has_value());

  pool.Publish(*first, {1, 2});
  EXPECT_TRUE(pool.HasLeases(1));
  EXPECT_FALSE(pool.HasLeases(3));
  EXPECT_TRUE(pool.Release(*first, pool.generation(*first), 1));
  EXPECT_EQ(pool.Counts().published, 1);
  EXPECT_TRUE(pool.Release(*first, pool.generation(*first), 2));
  EXPECT_FALSE(pool.HasLeases(2));
  pool.Abandon(*second);
  EXPECT_EQ(pool.Counts().free, 2);
}

TEST(SlotPoolTest, BelievesNoReleaseThatItsBookDoesNotShow) {
  SlotPool pool = MakePool(2);
  const std::uint32_t slot = *pool.Take();
  const std::uint32_t generation = pool.generation(slot);
  EXPECT_FALSE(pool.Release(slot, generation, 1)) << "still filling";
  pool.Publish(slot, {1});
  EXPECT_FALSE(pool.Release(99, generation, 1)) << "no such slot";
  EXPECT_FALSE(pool.Release(UINT32_MAX, UINT32_MAX, UINT32_MAX));
  EXPECT_FALSE(pool.Release(slot, generation + 1, 1)) << "not yet";
  EXPECT_FALSE(pool.Release(slot, generation, 2)) << "another's";
  EXPECT_TRUE(pool.Release(slot, generation, 1));
  EXPECT_FALSE(pool.Release(slot, generation, 1)) << "twice";
}

TEST(SlotPoolTest, TakesBackAllThatADeadHolderHeld) {
  SlotPool pool = MakePool(3);
  const std::uint32_t a = *pool.Take();
  const std::uint32_t b = *pool.Take();
  pool.Publish(a, {1});
  pool.Publish(b, {1, 2});
  pool.ReleaseAll(1);
  EXPECT_EQ(pool.Counts().free, 2);
  EXPECT_EQ(pool.Counts().published, 1);
  pool.ReleaseAll(2);
  EXPECT_EQ(pool.Counts().free, 3);
}

TEST(SlotPoolTest, AddsALeaseOnlyToWhatIsPublished) {
  SlotPool pool = MakePool(1);
  EXPECT_FALSE(pool.AddLease(0, 7));
  const std::uint32_t slot = *pool.Take();
  EXPECT_FALSE(pool.AddLease(slot, 7));
  pool.Publish(slot, {1});
  EXPECT_TRUE(pool.AddLease(slot, 7));
  EXPECT_TRUE(pool.Release(slot, pool.generation(slot), 1));
  EXPECT_EQ(pool.Counts().published, 1) << "the added lease holds it";
}

// Random steps, against the plainest possible book.
TEST(SlotPoolTest, AgreesWithAPlainBook) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    SlotPool pool = MakePool(4);
    std::set<std::uint32_t> filling;
    std::map<std::uint32_t, std::multiset<Holder>> leased;
    for (int step = 0; step < 500; ++step) {
      const std::uint32_t slot = random() % 5;
      const Holder holder = 1 + random() % 3;
      switch (random() % 5) {
        case 0: {
          const auto taken = pool.Take();
          ASSERT_EQ(taken.has_value(), filling.size() + leased.size() < 4);
          if (taken.has_value()) {
            ASSERT_TRUE(leased.count(*taken) == 0);
            ASSERT_TRUE(filling.insert(*taken).second);
          }
          break;
        }
        case 1:
          if (filling.erase(slot) != 0) pool.Abandon(slot);
          break;
        case 2:
          if (filling.erase(slot) != 0) {
            pool.Publish(slot, {1, 2});
            leased[slot] = {1, 2};
          }
          break;
        case 3: {
          const auto lease = leased.find(slot);
          const bool held =
              lease != leased.end() && lease->second.count(holder) != 0;
          const std::uint32_t generation =
              slot < pool.slots() ? pool.generation(slot) : 0;
          ASSERT_EQ(pool.Release(slot, generation, holder), held);
          if (held) lease->second.erase(lease->second.find(holder));
          break;
        }
        case 4:
          pool.ReleaseAll(holder);
          for (auto& [s, holders] : leased) holders.erase(holder);
          break;
      }
      std::erase_if(leased, [](const auto& l) { return l.second.empty(); });
      ASSERT_EQ(pool.Counts().filling, filling.size());
      ASSERT_EQ(pool.Counts().published, leased.size());
    }
  }
}

}  // namespace
}  // namespace forebay::arena

#include "server/arena/slot_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace forebay::arena {
namespace {

SlotPool MakePool(std::uint32_t slots) {
  SlotPool pool;
  pool.Add(slots);
  return pool;
}

TEST(SlotPoolTest, GoesFromFreeOverFillingToFinishedAndBack) {
  SlotPool pool = MakePool(2);
  const auto first = pool.Take();
  const auto second = pool.Take();
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_NE(*first, *second);
  EXPECT_FALSE(pool.Take().has_value());

  pool.Finish(*first);
  EXPECT_EQ(pool.Counts().kept, 1);
  EXPECT_TRUE(pool.Lease(*first, 1));
  EXPECT_TRUE(pool.Lease(*first, 2));
  EXPECT_EQ(pool.Leases(1), 1);
  EXPECT_EQ(pool.Leases(3), 0);
  EXPECT_TRUE(pool.Release(*first, pool.generation(*first), 1));
  EXPECT_TRUE(pool.IsLeased(*first));
  EXPECT_EQ(pool.Counts().leased, 1);
  EXPECT_TRUE(pool.Release(*first, pool.generation(*first), 2));
  EXPECT_FALSE(pool.IsLeased(*first));
  EXPECT_EQ(pool.Counts().kept, 1) << "it can be leased again";
  EXPECT_FALSE(pool.Take().has_value());
  pool.Free(*first);
  pool.Abandon(*second);
  EXPECT_EQ(pool.Counts().free, 2);
}

TEST(SlotPoolTest, BelievesNoReleaseThatItsBookDoesNotShow) {
  SlotPool pool = MakePool(2);
  const std::uint32_t slot = *pool.Take();
  const std::uint32_t generation = pool.generation(slot);
  EXPECT_FALSE(pool.Release(slot, generation, 1)) << "still filling";
  pool.Finish(slot);
  pool.Lease(slot, 1);
  EXPECT_FALSE(pool.Release(99, generation, 1)) << "no such slot";
  EXPECT_FALSE(pool.Release(UINT32_MAX, UINT32_MAX, UINT32_MAX));
  EXPECT_FALSE(pool.Release(slot, generation + 1, 1)) << "not yet";
  EXPECT_FALSE(pool.Release(slot, generation, 2)) << "another's";
  EXPECT_TRUE(pool.Release(slot, generation, 1));
  EXPECT_FALSE(pool.Release(slot, generation, 1)) << "twice";
}

TEST(SlotPoolTest, TakesBackAllThatADeadHolderHeld) {
  SlotPool pool = MakePool(3);
  for (const MemberId holder : {1, 2}) {
    const std::uint32_t slot = *pool.Take();
    pool.Finish(slot);
    pool.Lease(slot, 1);
    pool.Lease(slot, holder);
  }
  pool.ReleaseAll(1);
  EXPECT_EQ(pool.Counts().kept, 1);
  EXPECT_EQ(pool.Counts().leased, 1);
  pool.ReleaseAll(2);
  EXPECT_EQ(pool.Counts().kept, 2);
}

TEST(SlotPoolTest, LeasesOnlyWhatIsFinished) {
  SlotPool pool = MakePool(1);
  EXPECT_FALSE(pool.Lease(0, 7));
  const std::uint32_t slot = *pool.Take();
  EXPECT_FALSE(pool.Lease(slot, 7));
  pool.Finish(slot);
  EXPECT_TRUE(pool.Lease(slot, 7));
}

TEST(SlotPoolTest, GrowsAndShrinksAtItsEnd) {
  SlotPool pool = MakePool(1);
  const std::uint32_t slot = *pool.Take();
  pool.Add(2);
  EXPECT_EQ(pool.slots(), 3);
  EXPECT_TRUE(pool.RemoveLast());
  EXPECT_TRUE(pool.RemoveLast());
  EXPECT_FALSE(pool.RemoveLast()) << "it is being filled";
  pool.Abandon(slot);
  EXPECT_TRUE(pool.RemoveLast());
  EXPECT_FALSE(pool.RemoveLast()) << "there is none";
}

// Random steps, against the plainest possible book.
TEST(SlotPoolTest, AgreesWithAPlainBook) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    SlotPool pool = MakePool(4);
    std::set<std::uint32_t> filling;
    std::map<std::uint32_t, std::multiset<MemberId>> finished;
    for (int step = 0; step < 500; ++step) {
      const std::uint32_t slot = random() % 5;
      const MemberId holder = 1 + random() % 3;
      const auto book = finished.find(slot);
      switch (random() % 6) {
        case 0: {
          const auto taken = pool.Take();
          ASSERT_EQ(taken.has_value(), filling.size() + finished.size() < 4);
          if (taken.has_value()) {
            ASSERT_TRUE(finished.count(*taken) == 0);
            ASSERT_TRUE(filling.insert(*taken).second);
          }
          break;
        }
        case 1:
          if (filling.erase(slot) == 0) break;
          if (random() % 3 == 0) {
            pool.Abandon(slot);
          } else {
            pool.Finish(slot);
            finished[slot] = {};
          }
          break;
        case 2:
          if (slot >= pool.slots()) break;
          ASSERT_EQ(pool.Lease(slot, holder), book != finished.end());
          if (book != finished.end()) book->second.insert(holder);
          break;
        case 3: {
          const bool held =
              book != finished.end() && book->second.count(holder) != 0;
          const std::uint32_t generation =
              slot < pool.slots() ? pool.generation(slot) : 0;
          ASSERT_EQ(pool.Release(slot, generation, holder), held);
          if (held) book->second.erase(book->second.find(holder));
          break;
        }
        case 4:
          if (random() % 4 != 0) break;
          pool.ReleaseAll(holder);
          for (auto& [s, holders] : finished) holders.erase(holder);
          break;
        case 5:
          if (book == finished.end() || !book->second.empty()) break;
          pool.Free(slot);
          finished.erase(book);
          break;
      }
      ASSERT_EQ(pool.Counts().filling, filling.size());
      ASSERT_EQ(pool.Counts().kept + pool.Counts().leased, finished.size());
      std::size_t leases = 0;
      for (const auto& [s, holders] : finished) leases += holders.count(holder);
      ASSERT_EQ(pool.Leases(holder), leases);
    }
  }
}

}  // namespace
}  // namespace forebay::arena

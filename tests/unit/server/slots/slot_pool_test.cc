#include "server/slots/slot_pool.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::slots {
namespace {

SlotPool MakePool(std::uint32_t slots) {
  SlotPool pool;
  pool.Add(slots);
  return pool;
}

TEST_CASE("A pool's slot goes from free over filling to finished and back",
          "[slots][slot_pool]") {
  SlotPool pool = MakePool(2);
  const auto first = pool.Take();
  const auto second = pool.Take();
  REQUIRE(first.has_value());
  REQUIRE(second.has_value());
  CHECK(*first != *second);
  CHECK_FALSE(pool.Take().has_value());

  pool.Finish(*first);
  CHECK(pool.Counts().kept == 1);
  CHECK(pool.Lease(*first, 1));
  CHECK(pool.Lease(*first, 2));
  CHECK(pool.Leases(1) == 1);
  CHECK(pool.Leases(3) == 0);
  CHECK(pool.Release(*first, pool.generation(*first), 1));
  CHECK(pool.IsLeased(*first));
  CHECK(pool.Counts().leased == 1);
  CHECK(pool.Release(*first, pool.generation(*first), 2));
  CHECK_FALSE(pool.IsLeased(*first));
  UNSCOPED_INFO("it can be leased again");
  CHECK(pool.Counts().kept == 1);
  CHECK_FALSE(pool.Take().has_value());
  pool.Free(*first);
  pool.Abandon(*second);
  CHECK(pool.Counts().free == 2);
}

TEST_CASE("A slot pool believes no release that its book does not show",
          "[slots][slot_pool]") {
  SlotPool pool = MakePool(2);
  const std::uint32_t slot = *pool.Take();
  const std::uint32_t generation = pool.generation(slot);
  UNSCOPED_INFO("still filling");
  CHECK_FALSE(pool.Release(slot, generation, 1));
  pool.Finish(slot);
  pool.Lease(slot, 1);
  UNSCOPED_INFO("no such slot");
  CHECK_FALSE(pool.Release(99, generation, 1));
  CHECK_FALSE(pool.Release(UINT32_MAX, UINT32_MAX, UINT32_MAX));
  UNSCOPED_INFO("not yet");
  CHECK_FALSE(pool.Release(slot, generation + 1, 1));
  UNSCOPED_INFO("another's");
  CHECK_FALSE(pool.Release(slot, generation, 2));
  CHECK(pool.Release(slot, generation, 1));
  UNSCOPED_INFO("twice");
  CHECK_FALSE(pool.Release(slot, generation, 1));
}

TEST_CASE("A slot pool takes back all that a dead holder held",
          "[slots][slot_pool]") {
  SlotPool pool = MakePool(3);
  for (const MemberId holder : {1, 2}) {
    const std::uint32_t slot = *pool.Take();
    pool.Finish(slot);
    pool.Lease(slot, 1);
    pool.Lease(slot, holder);
  }
  pool.ReleaseAll(1);
  CHECK(pool.Counts().kept == 1);
  CHECK(pool.Counts().leased == 1);
  pool.ReleaseAll(2);
  CHECK(pool.Counts().kept == 2);
}

TEST_CASE("A slot pool leases only what is finished", "[slots][slot_pool]") {
  SlotPool pool = MakePool(1);
  CHECK_FALSE(pool.Lease(0, 7));
  const std::uint32_t slot = *pool.Take();
  CHECK_FALSE(pool.Lease(slot, 7));
  pool.Finish(slot);
  CHECK(pool.Lease(slot, 7));
}

TEST_CASE("A slot pool grows and shrinks at its end", "[slots][slot_pool]") {
  SlotPool pool = MakePool(1);
  const std::uint32_t slot = *pool.Take();
  pool.Add(2);
  CHECK(pool.slots() == 3);
  CHECK(pool.RemoveLast());
  CHECK(pool.RemoveLast());
  UNSCOPED_INFO("it is being filled");
  CHECK_FALSE(pool.RemoveLast());
  pool.Abandon(slot);
  CHECK(pool.RemoveLast());
  UNSCOPED_INFO("there is none");
  CHECK_FALSE(pool.RemoveLast());
}

// Compares random steps with the simplest possible model.
TEST_CASE("A slot pool agrees with a plain book after random steps",
          "[slots][slot_pool]") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
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
          REQUIRE(taken.has_value() == (filling.size() + finished.size() < 4));
          if (taken.has_value()) {
            REQUIRE(finished.count(*taken) == 0);
            REQUIRE(filling.insert(*taken).second);
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
          REQUIRE(pool.Lease(slot, holder) == (book != finished.end()));
          if (book != finished.end()) book->second.insert(holder);
          break;
        case 3: {
          const bool held =
              book != finished.end() && book->second.count(holder) != 0;
          const std::uint32_t generation =
              slot < pool.slots() ? pool.generation(slot) : 0;
          REQUIRE(pool.Release(slot, generation, holder) == held);
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
      REQUIRE(pool.Counts().filling == filling.size());
      REQUIRE(pool.Counts().kept + pool.Counts().leased == finished.size());
      std::size_t leases = 0;
      for (const auto& [s, holders] : finished) leases += holders.count(holder);
      REQUIRE(pool.Leases(holder) == leases);
    }
  }
}

}  // namespace
}  // namespace forebay::slots

#include "server/dataset/object_look.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/listed_place.h"

namespace forebay::dataset {
namespace {

class ObjectLookTest : public testing::Test {
 protected:
  ObjectLookTest() {
    for (int i = 0; i < 20; ++i) place_.Put(std::to_string(i), i);
  }

  void ExpectAllThere(ObjectLook& look) {
    for (std::uint64_t i = 0; i < 20; ++i) {
      const auto version = look.At(std::to_string(i));
      ASSERT_TRUE(version.ok()) << version.status();
      EXPECT_EQ(version->size, i);
    }
  }

  ListedPlace place_;
};

TEST_F(ObjectLookTest, FewAreAskedFor) {
  ObjectLook look(&place_, place_.root(), base::AmpleBudget(), {}, 20);
  ExpectAllThere(look);
  EXPECT_EQ(place_.lists, 0);
}

TEST_F(ObjectLookTest, ManyTakeOneList) {
  ObjectLook look(&place_, place_.root(), base::AmpleBudget(), {}, 3);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { ExpectAllThere(look); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(place_.lists, 1);
  EXPECT_EQ(look.At("20").status(),
            absl::NotFoundError("20: there is no such object"));
}

TEST_F(ObjectLookTest, WithoutListsAllAreAskedFor) {
  place_.status = absl::UnimplementedError("no lists here");
  ObjectLook look(&place_, place_.root(), base::AmpleBudget(), {}, 3);
  ExpectAllThere(look);
  EXPECT_EQ(place_.lists, 1);
}

TEST_F(ObjectLookTest, AListThatFailsIsTold) {
  place_.status = absl::UnavailableError("no connection");
  ObjectLook look(&place_, place_.root(), base::AmpleBudget(), {}, 0);
  EXPECT_EQ(look.At("1").status(), place_.status);
  EXPECT_EQ(look.At("2").status(), place_.status);
}

}  // namespace
}  // namespace forebay::dataset

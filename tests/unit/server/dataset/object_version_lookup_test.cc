#include "server/dataset/object_version_lookup.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/fake_lister.h"

namespace forebay::dataset {
namespace {

class ObjectVersionLookupTest : public testing::Test {
 protected:
  ObjectVersionLookupTest() {
    for (int i = 0; i < 20; ++i) lister_.Put(std::to_string(i), i);
  }

  void ExpectAllThere(ObjectVersionLookup& lookup) {
    for (std::uint64_t i = 0; i < 20; ++i) {
      const auto version = lookup.Find(std::to_string(i));
      ASSERT_TRUE(version.ok()) << version.status();
      EXPECT_EQ(version->size, i);
    }
  }

  FakeLister lister_;
};

TEST_F(ObjectVersionLookupTest, FewAreAskedFor) {
  ObjectVersionLookup lookup(&lister_, lister_.root(), base::AmpleBudget(), {},
                             20);
  ExpectAllThere(lookup);
  EXPECT_EQ(lister_.lists, 0);
}

TEST_F(ObjectVersionLookupTest, ManyTakeOneList) {
  ObjectVersionLookup lookup(&lister_, lister_.root(), base::AmpleBudget(), {},
                             3);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { ExpectAllThere(lookup); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lister_.lists, 1);
  EXPECT_EQ(lookup.Find("20").status(),
            absl::NotFoundError("20: there is no such object"));
}

TEST_F(ObjectVersionLookupTest, WithoutListsAllAreAskedFor) {
  lister_.status = absl::UnimplementedError("no lists here");
  ObjectVersionLookup lookup(&lister_, lister_.root(), base::AmpleBudget(), {},
                             3);
  ExpectAllThere(lookup);
  EXPECT_EQ(lister_.lists, 1);
}

TEST_F(ObjectVersionLookupTest, AListThatFailsIsTold) {
  lister_.status = absl::UnavailableError("no connection");
  ObjectVersionLookup lookup(&lister_, lister_.root(), base::AmpleBudget(), {},
                             0);
  EXPECT_EQ(lookup.Find("1").status(), lister_.status);
  EXPECT_EQ(lookup.Find("2").status(), lister_.status);
}

}  // namespace
}  // namespace forebay::dataset

#include "server/stream/backlog.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace forebay::stream {
namespace {

TEST(BacklogTest, OneTaskForSamplesThatItCanTake) {
  Backlog backlog(1);
  std::vector<Place> places(9);
  int asked = 0;
  for (Place& place : places) {
    backlog.Add({.place = &place, .bytes = {}, .status = {}});
    asked += backlog.WantsTask(4);
  }
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(backlog.tasks(), 3);
  for (const std::size_t expected : {4, 4, 1}) {
    EXPECT_EQ(backlog.Take(4).size(), expected);
  }
  EXPECT_TRUE(backlog.empty());
  EXPECT_EQ(backlog.tasks(), 0);
}

TEST(BacklogTest, LeavesTheOtherWorkersTheirPart) {
  Backlog backlog(4);
  std::vector<Place> places(8);
  for (Place& place : places) {
    backlog.Add({.place = &place, .bytes = {}, .status = {}});
    backlog.WantsTask(8);
  }
  EXPECT_EQ(backlog.tasks(), 1);
  EXPECT_EQ(backlog.Take(8).size(), 2);
  EXPECT_TRUE(backlog.WantsTask(8)) << "the rest waits";
}

TEST(BacklogTest, ATaskMayComeTooLate) {
  Backlog backlog(1);
  Place place;
  backlog.Add({.place = &place, .bytes = {}, .status = {}});
  EXPECT_TRUE(backlog.WantsTask(1));
  EXPECT_EQ(backlog.Take(1).size(), 1);
  backlog.Add({.place = &place, .bytes = {}, .status = {}});
  EXPECT_TRUE(backlog.WantsTask(1));
  EXPECT_FALSE(backlog.WantsTask(1));
}

TEST(BacklogTest, EverySampleIsTakenOnceInOrderWhileATaskIsOnItsWay) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    Backlog backlog(1 + static_cast<int>(random() % 8));
    std::vector<Place> places(200);
    std::size_t added = 0;
    std::size_t taken = 0;
    while (taken < places.size()) {
      const std::size_t task_samples = 1 + random() % 10;
      if (added < places.size() && random() % 2 == 0) {
        backlog.Add({.place = &places[added++], .bytes = {}, .status = {}});
        backlog.WantsTask(task_samples);
      } else if (backlog.tasks() > 0) {
        const auto samples = backlog.Take(task_samples);
        ASSERT_LE(samples.size(), task_samples);
        for (const ReadSample& sample : samples) {
          ASSERT_EQ(sample.place, &places[taken++]);
        }
        backlog.WantsTask(task_samples);
      }
      ASSERT_EQ(backlog.empty(), added == taken);
      ASSERT_TRUE(backlog.empty() || backlog.tasks() > 0);
    }
  }
}

}  // namespace
}  // namespace forebay::stream

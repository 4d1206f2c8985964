#include "server/stream/decode_queue.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace forebay::stream {
namespace {

TEST(DecodeQueueTest, OneTaskForSamplesThatItCanTake) {
  DecodeQueue queue(1);
  std::vector<Place> places(9);
  int asked = 0;
  for (Place& place : places) {
    queue.Add({.place = &place, .bytes = {}, .status = {}});
    asked += queue.WantsTask(4);
  }
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(queue.tasks(), 3);
  for (const std::size_t expected : {4, 4, 1}) {
    EXPECT_EQ(queue.Take(4).size(), expected);
  }
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.tasks(), 0);
}

TEST(DecodeQueueTest, LeavesTheOtherWorkersTheirPart) {
  DecodeQueue queue(4);
  std::vector<Place> places(8);
  for (Place& place : places) {
    queue.Add({.place = &place, .bytes = {}, .status = {}});
    queue.WantsTask(8);
  }
  EXPECT_EQ(queue.tasks(), 1);
  EXPECT_EQ(queue.Take(8).size(), 2);
  EXPECT_TRUE(queue.WantsTask(8)) << "the rest waits";
}

TEST(DecodeQueueTest, ATaskMayComeTooLate) {
  DecodeQueue queue(1);
  Place place;
  queue.Add({.place = &place, .bytes = {}, .status = {}});
  EXPECT_TRUE(queue.WantsTask(1));
  EXPECT_EQ(queue.Take(1).size(), 1);
  queue.Add({.place = &place, .bytes = {}, .status = {}});
  EXPECT_TRUE(queue.WantsTask(1));
  EXPECT_FALSE(queue.WantsTask(1));
}

TEST(DecodeQueueTest, EverySampleIsTakenOnceInOrderWhileATaskIsOnItsWay) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    DecodeQueue queue(1 + static_cast<int>(random() % 8));
    std::vector<Place> places(200);
    std::size_t added = 0;
    std::size_t taken = 0;
    while (taken < places.size()) {
      const std::size_t task_samples = 1 + random() % 10;
      if (added < places.size() && random() % 2 == 0) {
        queue.Add({.place = &places[added++], .bytes = {}, .status = {}});
        queue.WantsTask(task_samples);
      } else if (queue.tasks() > 0) {
        const auto samples = queue.Take(task_samples);
        ASSERT_LE(samples.size(), task_samples);
        for (const ReadSample& sample : samples) {
          ASSERT_EQ(sample.place, &places[taken++]);
        }
        queue.WantsTask(task_samples);
      }
      ASSERT_EQ(queue.empty(), added == taken);
      ASSERT_TRUE(queue.empty() || queue.tasks() > 0);
    }
  }
}

}  // namespace
}  // namespace forebay::stream

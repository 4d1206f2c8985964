#include "server/stream/decode_queue.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace forebay::stream {
namespace {

TEST(DecodeQueueTest, OneTaskForSamplesThatItCanTake) {
  DecodeQueue queue(1);
  std::vector<PendingSample> samples(9);
  int asked = 0;
  for (PendingSample& pending : samples) {
    queue.Add({.pending = &pending, .bytes = {}, .status = {}});
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
  std::vector<PendingSample> samples(8);
  for (PendingSample& pending : samples) {
    queue.Add({.pending = &pending, .bytes = {}, .status = {}});
    queue.WantsTask(8);
  }
  EXPECT_EQ(queue.tasks(), 1);
  EXPECT_EQ(queue.Take(8).size(), 2);
  EXPECT_TRUE(queue.WantsTask(8)) << "the rest waits";
}

TEST(DecodeQueueTest, OneThatWasLostGoesAlone) {
  DecodeQueue queue(1);
  std::vector<PendingSample> samples(5);
  samples[0].deaths = 1;
  samples[3].short_of_memory = 1;
  for (PendingSample& pending : samples)
    queue.Add({.pending = &pending, .bytes = {}, .status = {}});
  for (const std::size_t expected : {1, 2, 1, 1}) {
    EXPECT_TRUE(queue.WantsTask(8));
    EXPECT_EQ(queue.Take(8).size(), expected);
  }
  EXPECT_TRUE(queue.empty());
}

TEST(DecodeQueueTest, TakesTheFirstThatMayGo) {
  DecodeQueue queue(1);
  std::vector<PendingSample> samples(3);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i].id = i;
    queue.Add({.pending = &samples[i], .bytes = {}, .status = {}});
  }
  const auto is_odd = [](const PendingSample& one) { return one.id % 2 == 1; };
  const auto is_far = [](const PendingSample& one) { return one.id > 9; };
  EXPECT_EQ(queue.NextTaskOf(is_odd), &samples[1]);
  EXPECT_EQ(queue.NextTaskOf(is_far), nullptr);
  EXPECT_EQ(queue.tasks(), 1);
  std::vector<ReadSample> taken = queue.TakeOne(is_odd);
  ASSERT_EQ(taken.size(), 1);
  EXPECT_EQ(taken[0].pending, &samples[1]);
  EXPECT_EQ(queue.Find(is_odd), nullptr);
  queue.AddAgain(std::move(taken[0]));
  EXPECT_EQ(queue.front().pending, &samples[1]) << "it was lost, and is urgent";
  EXPECT_EQ(queue.tasks(), 0);
}

TEST(DecodeQueueTest, ATaskMayComeTooLate) {
  DecodeQueue queue(1);
  PendingSample pending;
  queue.Add({.pending = &pending, .bytes = {}, .status = {}});
  EXPECT_TRUE(queue.WantsTask(1));
  EXPECT_EQ(queue.Take(1).size(), 1);
  queue.Add({.pending = &pending, .bytes = {}, .status = {}});
  EXPECT_TRUE(queue.WantsTask(1));
  EXPECT_FALSE(queue.WantsTask(1));
}

TEST(DecodeQueueTest, EverySampleIsTakenOnceInOrderWhileATaskIsOnItsWay) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    DecodeQueue queue(1 + static_cast<int>(random() % 8));
    std::vector<PendingSample> pending(200);
    std::size_t added = 0;
    std::size_t taken = 0;
    while (taken < pending.size()) {
      const std::size_t task_samples = 1 + random() % 10;
      if (added < pending.size() && random() % 2 == 0) {
        queue.Add({.pending = &pending[added++], .bytes = {}, .status = {}});
        queue.WantsTask(task_samples);
      } else if (queue.tasks() > 0) {
        const auto samples = queue.Take(task_samples);
        ASSERT_LE(samples.size(), task_samples);
        for (const ReadSample& sample : samples) {
          ASSERT_EQ(sample.pending, &pending[taken++]);
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

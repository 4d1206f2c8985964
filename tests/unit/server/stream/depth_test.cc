#include "server/stream/depth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>

namespace forebay::stream {
namespace {

constexpr std::int64_t kMilli = 1'000'000;

// A trainer takes a batch every `period`. Workers make one batch after the
// other, each in `made`, and as many ahead as Depth says.
class Loop {
 public:
  explicit Loop(std::uint32_t slots) : depth_(slots) { depth_.StartEpoch(); }

  // Returns false if the trainer had to wait.
  bool Take(std::int64_t period, std::int64_t made) {
    const std::int64_t wanted_at = taken_at_ + period;
    Work(wanted_at, made);
    const bool waits = ready_ == 0;
    while (ready_ == 0) Work(done_at_ == 0 ? now_ : done_at_, made);
    taken_at_ = std::max(now_, wanted_at);
    --ready_;
    Begin(made);
    return !waits;
  }
  std::uint32_t target() const { return depth_.target(); }

 private:
  void Begin(std::int64_t made) {
    depth_.SawReady(ready_);
    while (making_ + ready_ < depth_.target()) {
      if (making_++ == 0) done_at_ = std::max(now_, taken_at_) + made;
    }
  }
  void Work(std::int64_t until, std::int64_t made) {
    Begin(made);
    while (making_ > 0 && done_at_ <= until) {
      now_ = done_at_;
      --making_;
      depth_.SawReady(ready_);
      depth_.Published(made, now_);
      ++ready_;
      done_at_ = now_ + made;
      Begin(made);
    }
    now_ = std::max(now_, until);
  }

  Depth depth_;
  std::size_t ready_ = 0;
  std::size_t making_ = 0;
  std::int64_t now_ = 0;
  std::int64_t taken_at_ = 0;
  std::int64_t done_at_ = 0;
};

TEST(DepthTest, ASlowTrainerNeedsTwoAndNeverWaits) {
  Loop loop(16);
  EXPECT_TRUE(!loop.Take(0, kMilli)) << "for the first batch";
  std::uint32_t before = loop.target();
  for (int i = 0; i < 400; ++i) {
    EXPECT_TRUE(loop.Take(100 * kMilli, kMilli)) << i;
    EXPECT_GE(loop.target(), before - 1) << "one at a time";
    before = loop.target();
  }
  EXPECT_EQ(loop.target(), 2);
}

TEST(DepthTest, AFastTrainerHasAllSlots) {
  Loop loop(16);
  for (int i = 0; i < 1000; ++i) {
    loop.Take(0, kMilli);
    EXPECT_EQ(loop.target(), 16);
  }
}

TEST(DepthTest, WhoFindsNothingHasAllSlotsAtOnce) {
  Loop loop(16);
  for (int i = 0; i < 400; ++i) loop.Take(100 * kMilli, kMilli);
  ASSERT_EQ(loop.target(), 2);
  for (int i = 0; i < 6; ++i) loop.Take(0, kMilli);
  EXPECT_EQ(loop.target(), 16);
}

// After a validation, the trainer goes on as before.
TEST(DepthTest, APauseChangesNothing) {
  Loop loop(16);
  for (int i = 0; i < 400; ++i) loop.Take(100 * kMilli, 60 * kMilli);
  const std::uint32_t before = loop.target();
  for (int pause = 0; pause < 10; ++pause) {
    EXPECT_TRUE(loop.Take(600'000 * kMilli, 60 * kMilli));
    for (int i = 0; i < 30; ++i)
      EXPECT_TRUE(loop.Take(100 * kMilli, 60 * kMilli));
  }
  EXPECT_LE(loop.target(), before);
  EXPECT_GE(loop.target(), 2);
}

TEST(DepthTest, CoversTheTimeThatABatchTakes) {
  Depth depth(16);
  depth.StartEpoch();
  for (int i = 0; i < 1000; ++i) {
    depth.SawReady(8);
    depth.Published(35 * kMilli, i * 10 * kMilli);
  }
  EXPECT_EQ(depth.target(), 5) << "four in the making and one ready";
  for (int i = 1000; i < 1020; ++i) {
    depth.SawReady(1);
    depth.Published(95 * kMilli, i * 10 * kMilli);
  }
  EXPECT_GE(depth.target(), 10) << "they take longer now";
}

TEST(DepthTest, EachTimeThatFewerWereTooFewTheWhileIsLonger) {
  Depth depth(4);
  depth.StartEpoch();
  std::int64_t now = 0;
  const auto batches_until_fewer = [&] {
    int batches = 0;
    for (; depth.target() == 4; ++batches) {
      depth.SawReady(3);
      depth.Published(1, now += kMilli);
    }
    return batches;
  };
  int before = batches_until_fewer();
  EXPECT_LE(before, 24);
  for (int i = 0; i < 10; ++i) {
    depth.SawReady(0);
    const int batches = batches_until_fewer();
    EXPECT_GE(batches, before - 4);
    before = batches;
  }
  EXPECT_GE(before, 400);
  EXPECT_LE(before, 520) << "but it does not wait for ever";
}

TEST(DepthTest, AnEpochsBeginningIsNotAWait) {
  Depth depth(8);
  std::int64_t now = 0;
  depth.StartEpoch();
  for (int i = 0; i < 300; ++i) {
    depth.SawReady(4);
    depth.Published(1, now += kMilli);
  }
  ASSERT_EQ(depth.target(), 2);
  depth.StartEpoch();
  depth.SawReady(0);
  depth.Published(1, now += kMilli);
  depth.SawReady(0);
  depth.Published(1, now += kMilli);
  EXPECT_EQ(depth.target(), 2);
  depth.SawReady(0);
  EXPECT_EQ(depth.target(), 8);
}

TEST(DepthTest, StaysWithinItsBoundsWhateverItIsTold) {
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (const std::uint32_t slots : {2, 3, 4, 64}) {
    Depth depth(slots);
    std::int64_t now = 0;
    for (int i = 0; i < 20'000; ++i) {
      if (random() % 100 == 0) depth.StartEpoch();
      depth.SawReady(random() % 8 == 0 ? random() % slots : slots);
      now += static_cast<std::int64_t>(random() % 3 * (random() % 1'000'000));
      depth.Published(static_cast<std::int64_t>(random() % 3'000'000'000), now);
      ASSERT_GE(depth.target(), 2);
      ASSERT_LE(depth.target(), slots);
    }
  }
}

}  // namespace
}  // namespace forebay::stream

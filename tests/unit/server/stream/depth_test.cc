#include "server/stream/depth.h"

#include <algorithm>
#include <cstdint>
#include <random>

#include "tests/catch/catch.h"

namespace forebay::stream {
namespace {

constexpr std::int64_t kMilli = 1'000'000;

// A trainer takes a batch every `period` nanoseconds. Threads make one batch
// after the other, each in `made` nanoseconds. They make as many ahead as Depth
// says.
class Loop {
 public:
  explicit Loop(std::uint32_t slots) : depth_(slots) { depth_.StartEpoch(); }

  // Takes a batch. Returns false if the trainer had to wait.
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

TEST_CASE("A slow trainer needs a prefetch depth of two and never waits",
          "[stream][depth]") {
  Loop loop(16);
  UNSCOPED_INFO("for the first batch");
  CHECK(!loop.Take(0, kMilli));
  std::uint32_t before = loop.target();
  for (int i = 0; i < 400; ++i) {
    CAPTURE(i);
    CHECK(loop.Take(100 * kMilli, kMilli));
    UNSCOPED_INFO("one at a time");
    CHECK(loop.target() >= before - 1);
    before = loop.target();
  }
  CHECK(loop.target() == 2);
}

TEST_CASE("The prefetch depth of a fast trainer covers all slots",
          "[stream][depth]") {
  Loop loop(16);
  for (int i = 0; i < 1000; ++i) {
    loop.Take(0, kMilli);
    CHECK(loop.target() == 16);
  }
}

TEST_CASE("A trainer that finds nothing ready has all slots at once",
          "[stream][depth]") {
  Loop loop(16);
  for (int i = 0; i < 400; ++i) loop.Take(100 * kMilli, kMilli);
  REQUIRE(loop.target() == 2);
  for (int i = 0; i < 6; ++i) loop.Take(0, kMilli);
  CHECK(loop.target() == 16);
}

// After a validation, the trainer continues at its old pace.
TEST_CASE("A pause of the trainer does not change its prefetch depth",
          "[stream][depth]") {
  Loop loop(16);
  for (int i = 0; i < 400; ++i) loop.Take(100 * kMilli, 60 * kMilli);
  const std::uint32_t before = loop.target();
  for (int pause = 0; pause < 10; ++pause) {
    CHECK(loop.Take(600'000 * kMilli, 60 * kMilli));
    for (int i = 0; i < 30; ++i) CHECK(loop.Take(100 * kMilli, 60 * kMilli));
  }
  CHECK(loop.target() <= before);
  CHECK(loop.target() >= 2);
}

TEST_CASE("The prefetch depth covers the time that a batch takes",
          "[stream][depth]") {
  Depth depth(16);
  depth.StartEpoch();
  for (int i = 0; i < 1000; ++i) {
    depth.SawReady(8);
    depth.Published(35 * kMilli, i * 10 * kMilli);
  }
  UNSCOPED_INFO("four in the making and one ready");
  CHECK(depth.target() == 5);
  for (int i = 1000; i < 1020; ++i) {
    depth.SawReady(1);
    depth.Published(95 * kMilli, i * 10 * kMilli);
  }
  UNSCOPED_INFO("they take longer now");
  CHECK(depth.target() >= 10);
}

TEST_CASE(
    "Each time that fewer slots were too few the prefetch depth waits longer "
    "to fall",
    "[stream][depth]") {
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
  CHECK(before <= 24);
  for (int i = 0; i < 10; ++i) {
    depth.SawReady(0);
    const int batches = batches_until_fewer();
    CHECK(batches >= before - 4);
    before = batches;
  }
  CHECK(before >= 400);
  UNSCOPED_INFO("but it does not wait for ever");
  CHECK(before <= 520);
}

TEST_CASE("An epoch's beginning does not count as a wait of the trainer",
          "[stream][depth]") {
  Depth depth(8);
  std::int64_t now = 0;
  depth.StartEpoch();
  for (int i = 0; i < 300; ++i) {
    depth.SawReady(4);
    depth.Published(1, now += kMilli);
  }
  REQUIRE(depth.target() == 2);
  depth.StartEpoch();
  depth.SawReady(0);
  depth.Published(1, now += kMilli);
  depth.SawReady(0);
  depth.Published(1, now += kMilli);
  CHECK(depth.target() == 2);
  depth.SawReady(0);
  CHECK(depth.target() == 8);
}

TEST_CASE("The prefetch depth stays within its bounds whatever it is told",
          "[stream][depth]") {
  const std::uint32_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (const std::uint32_t slots : {2, 3, 4, 64}) {
    Depth depth(slots);
    std::int64_t now = 0;
    for (int i = 0; i < 20'000; ++i) {
      if (random() % 100 == 0) depth.StartEpoch();
      depth.SawReady(random() % 8 == 0 ? random() % slots : slots);
      now += static_cast<std::int64_t>(random() % 3 * (random() % 1'000'000));
      depth.Published(static_cast<std::int64_t>(random() % 3'000'000'000), now);
      REQUIRE(depth.target() >= 2);
      REQUIRE(depth.target() <= slots);
    }
  }
}

}  // namespace
}  // namespace forebay::stream

#include "server/worker/memory_limiter.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "server/base/clock.h"
#include "server/worker/memory_watch.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/worker/fake_process.h"

namespace forebay::worker {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
constexpr std::uint64_t kLimit = 1000 * kMib;
constexpr std::int64_t kMilli = 1'000'000;
constexpr std::int64_t kSecond = 1000 * kMilli;

class MemoryLimiterTest {
 protected:
  struct Known {
    std::shared_ptr<FakeState> state;
    std::shared_ptr<const LimitedWorker> worker;
  };

  // Adds a newly forked process whose parent has `shared` bytes of memory.
  Known Fork(std::uint64_t shared = 0, std::int64_t measuring_nanos = 0) {
    auto state = std::make_shared<FakeState>();
    state->shared = shared;
    return {state, limiter_.Add(group_, std::make_unique<FakeProcess>(
                                            state, &clock_, measuring_nanos))};
  }

  base::FakeClock clock_;
  MemoryLimiter limiter_{kLimit, &clock_};
  std::shared_ptr<MemoryGroup> group_ = std::make_shared<MemoryGroup>("a");
};

TEST_CASE_METHOD(MemoryLimiterTest,
                 "The memory limiter looks at nothing without workers",
                 "[worker][memory_limiter]") {
  CHECK(limiter_.Check() == std::nullopt);
  CHECK(limiter_.snapshot().limit == kLimit);
  const Known one = Fork();
  CHECK(limiter_.Check() != std::nullopt);
  one.state->Leave();
  CHECK(limiter_.Check() == std::nullopt);
}

TEST_CASE_METHOD(MemoryLimiterTest,
                 "The memory limiter ends the largest worker where all "
                 "together have too much",
                 "[worker][memory_limiter]") {
  const Known small = Fork();
  const Known large = Fork();
  small.state->Set(450 * kMib);
  large.state->Set(550 * kMib);
  limiter_.Check();
  CHECK(limiter_.snapshot().used == kLimit);
  CHECK(limiter_.snapshot().ended == 0);
  small.state->Set(451 * kMib);
  limiter_.Check();
  CHECK(large.state->is_killed());
  CHECK_FALSE(small.state->is_killed());
  const auto overrun = large.worker->overrun();
  REQUIRE(overrun.has_value());
  CHECK(overrun->bytes == 550 * kMib);
  CHECK(overrun->together == 1001 * kMib);
  CHECK(overrun->limit == kLimit);
  CHECK_FALSE(overrun->alone());
  CHECK_FALSE(small.worker->overrun().has_value());
  CHECK(limiter_.snapshot().ended == 1);
}

TEST_CASE_METHOD(
    MemoryLimiterTest,
    "The memory limiter waits until the worker that it ended is gone",
    "[worker][memory_limiter]") {
  const Known small = Fork();
  const Known large = Fork();
  small.state->Set(600 * kMib);
  large.state->Set(700 * kMib);
  limiter_.Check();
  CHECK(large.state->is_killed());
  UNSCOPED_INFO("it looks often");
  CHECK(limiter_.Check() == 10 * kMilli);
  CHECK_FALSE(small.state->is_killed());
  CHECK(limiter_.snapshot().used == 1300 * kMib);
  large.state->Leave();
  limiter_.Check();
  CHECK(limiter_.snapshot().used == 600 * kMib);
  CHECK(limiter_.snapshot().workers == 1);
}

TEST_CASE_METHOD(
    MemoryLimiterTest,
    "The memory limiter says whether one worker alone had too much",
    "[worker][memory_limiter]") {
  const Known one = Fork();
  one.state->Set(kLimit + 1);
  limiter_.Check();
  REQUIRE(one.worker->overrun().has_value());
  CHECK(one.worker->overrun()->alone());
}

TEST_CASE_METHOD(
    MemoryLimiterTest,
    "The memory limiter counts nothing that workers share with the trainer",
    "[worker][memory_limiter]") {
  std::vector<Known> all;
  for (int i = 0; i < 8; ++i) all.push_back(Fork(3 * kLimit));
  for (int i = 0; i < 100; ++i) {
    limiter_.Check();
    clock_.Advance(kSecond);
  }
  CHECK(limiter_.snapshot().used == 0);
  all[0].state->Set(100 * kMib);
  limiter_.Check();
  CHECK(limiter_.snapshot().used == 100 * kMib);
  CHECK(limiter_.snapshot().ended == 0);
}

TEST_CASE_METHOD(MemoryLimiterTest,
                 "The memory limiter sees what a worker no longer shares",
                 "[worker][memory_limiter]") {
  const Known one = Fork(3 * kLimit);
  one.state->CopyOnWrite(2 * kLimit);
  limiter_.Check();
  UNSCOPED_INFO("it was forked just now");
  CHECK_FALSE(one.state->is_killed());
  clock_.Advance(kSecond);
  limiter_.Check();
  CHECK(one.state->is_killed());
}

TEST_CASE_METHOD(MemoryLimiterTest,
                 "The memory limiter reads no page tables while workers have "
                 "little memory",
                 "[worker][memory_limiter]") {
  const Known one = Fork(400 * kMib);
  const Known other = Fork(400 * kMib);
  for (int i = 0; i < 10; ++i) {
    clock_.Advance(kSecond);
    limiter_.Check();
  }
  CHECK(one.state->measured + other.state->measured == 0);
}

TEST_CASE_METHOD(
    MemoryLimiterTest,
    "The memory limiter reads page tables for at most a hundredth of the time",
    "[worker][memory_limiter]") {
  const Known one = Fork(3 * kLimit, /*measuring_nanos=*/100 * kMilli);
  const std::int64_t began = clock_.NowNanos();
  while (clock_.NowNanos() - began < 100 * kSecond) {
    limiter_.Check();
    clock_.Advance(10 * kMilli);
  }
  CHECK(one.state->measured >= 8);
  CHECK(one.state->measured <= 10);
  const Known quick = Fork(4 * kLimit);
  for (int i = 0; i < 1000; ++i) {
    limiter_.Check();
    clock_.Advance(10 * kMilli);
  }
  CHECK(quick.state->measured >= 8);
  UNSCOPED_INFO("at most once a second");
  CHECK(quick.state->measured <= 10);
}

TEST_CASE_METHOD(MemoryLimiterTest,
                 "The memory limiter looks the sooner the less memory is left",
                 "[worker][memory_limiter]") {
  const Known one = Fork();
  const auto wait_with = [&](std::uint64_t bytes) {
    one.state->Set(bytes);
    return *limiter_.Check();
  };
  const std::int64_t early = wait_with(0);
  CHECK(early > 200 * kMilli);
  CHECK(early <= kSecond);
  CHECK(wait_with(kLimit / 2) < early);
  CHECK(wait_with(kLimit - kMib) == 10 * kMilli);
  const Known other = Fork();
  UNSCOPED_INFO("two take it faster");
  CHECK(wait_with(0) < early);
}

TEST_CASE_METHOD(MemoryLimiterTest,
                 "Fewer workers are at work for a while where one was ended "
                 "for its memory",
                 "[worker][memory_limiter]") {
  std::vector<Known> all;
  for (int i = 0; i < 4; ++i) all.push_back(Fork());
  CHECK(group_->most() == proto::kMaxWorkers);
  for (const Known& one : all) one.state->Set(400 * kMib);
  limiter_.Check();
  CHECK(limiter_.snapshot().ended == 2);
  CHECK(group_->most() == 2);
  clock_.Advance(9 * kSecond);
  limiter_.Check();
  CHECK(group_->most() == 2);
  clock_.Advance(kSecond);
  limiter_.Check();
  CHECK(group_->most() == 3);
  limiter_.Check();
  CHECK(group_->most() == 3);
}

TEST_CASE_METHOD(MemoryLimiterTest,
                 "The memory limiter always leaves one worker at work",
                 "[worker][memory_limiter]") {
  const Known one = Fork();
  one.state->Set(2 * kLimit);
  limiter_.Check();
  CHECK(group_->most() == 1);
}

TEST_CASE_METHOD(
    MemoryLimiterTest,
    "Other groups keep their workers when the memory limiter ends one",
    "[worker][memory_limiter]") {
  const auto other = std::make_shared<MemoryGroup>("b");
  const auto state = std::make_shared<FakeState>();
  const auto kept = limiter_.Add(other, std::make_unique<FakeProcess>(state));
  const Known one = Fork();
  one.state->Set(900 * kMib);
  state->Set(200 * kMib);
  limiter_.Check();
  CHECK(one.state->is_killed());
  CHECK_FALSE(kept->overrun().has_value());
  CHECK(other->most() == proto::kMaxWorkers);
}

TEST_CASE("The memory watch looks by itself", "[worker][memory_limiter]") {
  MemoryWatch watch(kLimit);
  const auto group = std::make_shared<MemoryGroup>("a");
  const auto state = std::make_shared<FakeState>();
  const auto worker = watch.Add(group, std::make_unique<FakeProcess>(state));
  state->Set(2 * kLimit);
  state->AwaitKill();
  CHECK(worker->overrun().has_value());
}

TEST_CASE("The memory watch ends with workers and without",
          "[worker][memory_limiter]") {
  MemoryWatch unused(kLimit);
  MemoryWatch watch(kLimit);
  watch.Add(std::make_shared<MemoryGroup>("a"),
            std::make_unique<FakeProcess>(std::make_shared<FakeState>()));
  SUCCEED("both end");
}

}  // namespace
}  // namespace forebay::worker

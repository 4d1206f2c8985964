#include "server/worker/stall_policy.h"

#include "tests/catch/catch.h"

namespace forebay::worker {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

class StallPolicyTest {
 protected:
  BusyWorker worker_ = {.asked_at_nanos = 100 * kSecond};
  StallContext context_ = {.now_nanos = 103 * kSecond,
                           .is_awaited = true,
                           .pool_answered_at_nanos = 103 * kSecond,
                           .worker_answered_at_nanos = 103 * kSecond};
};

TEST_CASE_METHOD(StallPolicyTest, "A stopped worker loses its task",
                 "[worker][stall_policy]") {
  CHECK(FindStall(worker_, context_) == std::nullopt);
  worker_.stopped_since_nanos = 102 * kSecond;
  CHECK(FindStall(worker_, context_) == Stall::kStopped);
}

TEST_CASE_METHOD(StallPolicyTest, "A short stop of a worker is not a stall",
                 "[worker][stall_policy]") {
  worker_.stopped_since_nanos = 102 * kSecond + 1;
  CHECK(FindStall(worker_, context_) == std::nullopt);
}

TEST_CASE_METHOD(StallPolicyTest,
                 "A paused job keeps its stopped workers as they are",
                 "[worker][stall_policy]") {
  worker_.stopped_since_nanos = 102 * kSecond;
  context_.now_nanos = 10'000 * kSecond;
  context_.pool_answered_at_nanos = 101 * kSecond;
  UNSCOPED_INFO("its worker pool does not answer either");
  CHECK(FindStall(worker_, context_) == std::nullopt);
}

TEST_CASE_METHOD(StallPolicyTest,
                 "Nothing is done about a stopped worker that nobody waits for",
                 "[worker][stall_policy]") {
  worker_.stopped_since_nanos = 102 * kSecond;
  context_.is_awaited = false;
  CHECK(FindStall(worker_, context_) == std::nullopt);
}

TEST_CASE_METHOD(StallPolicyTest, "A sleeping worker loses its task once",
                 "[worker][stall_policy]") {
  context_.now_nanos = 160 * kSecond - 1;
  CHECK(FindStall(worker_, context_) == std::nullopt);
  ++context_.now_nanos;
  CHECK(FindStall(worker_, context_) == Stall::kAsleep);
  worker_.has_retried = true;
  CHECK(FindStall(worker_, context_) == std::nullopt);
}

TEST_CASE_METHOD(StallPolicyTest,
                 "A worker that computes does not count as asleep",
                 "[worker][stall_policy]") {
  context_.now_nanos = 200 * kSecond;
  worker_.still_since_nanos = 141 * kSecond;
  CHECK(FindStall(worker_, context_) == std::nullopt);
  worker_.still_since_nanos = 140 * kSecond;
  CHECK(FindStall(worker_, context_) == Stall::kAsleep);
}

TEST_CASE_METHOD(StallPolicyTest, "A worker of slow tasks may sleep for long",
                 "[worker][stall_policy]") {
  context_.now_nanos = 200 * kSecond;
  context_.task_nanos = 6 * kSecond;
  CHECK(FindStall(worker_, context_) == std::nullopt);
  context_.task_nanos = 5 * kSecond;
  CHECK(FindStall(worker_, context_) == Stall::kAsleep);
}

TEST_CASE_METHOD(StallPolicyTest,
                 "A sleeping worker is waited for while nobody else works",
                 "[worker][stall_policy]") {
  context_.now_nanos = 200 * kSecond;
  StallContext others = context_;
  others.worker_answered_at_nanos = INT64_MIN;
  CHECK(FindStall(worker_, others) == std::nullopt);
  others = context_;
  others.pool_answered_at_nanos = INT64_MIN;
  CHECK(FindStall(worker_, others) == std::nullopt);
}

}  // namespace
}  // namespace forebay::worker

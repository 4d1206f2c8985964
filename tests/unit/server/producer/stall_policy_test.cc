#include "server/producer/stall_policy.h"

#include "tests/catch/catch.h"

namespace forebay::producer {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

class StallPolicyTest {
 protected:
  BusyProducer producer_ = {.asked_at_nanos = 100 * kSecond};
  StallContext context_ = {.now_nanos = 103 * kSecond,
                           .is_awaited = true,
                           .host_answered_at_nanos = 103 * kSecond,
                           .producer_answered_at_nanos = 103 * kSecond};
};

TEST_CASE_METHOD(StallPolicyTest, "A stopped producer loses its task",
                 "[producer][stall_policy]") {
  CHECK(FindStall(producer_, context_) == std::nullopt);
  producer_.stopped_since_nanos = 102 * kSecond;
  CHECK(FindStall(producer_, context_) == Stall::kStopped);
}

TEST_CASE_METHOD(StallPolicyTest, "A short stop of a producer is not a stall",
                 "[producer][stall_policy]") {
  producer_.stopped_since_nanos = 102 * kSecond + 1;
  CHECK(FindStall(producer_, context_) == std::nullopt);
}

TEST_CASE_METHOD(StallPolicyTest,
                 "A paused job keeps its stopped producers as they are",
                 "[producer][stall_policy]") {
  producer_.stopped_since_nanos = 102 * kSecond;
  context_.now_nanos = 10'000 * kSecond;
  context_.host_answered_at_nanos = 101 * kSecond;
  UNSCOPED_INFO("its host does not answer either");
  CHECK(FindStall(producer_, context_) == std::nullopt);
}

TEST_CASE_METHOD(
    StallPolicyTest,
    "Nothing is done about a stopped producer that nobody waits for",
    "[producer][stall_policy]") {
  producer_.stopped_since_nanos = 102 * kSecond;
  context_.is_awaited = false;
  CHECK(FindStall(producer_, context_) == std::nullopt);
}

TEST_CASE_METHOD(StallPolicyTest, "A sleeping producer loses its task once",
                 "[producer][stall_policy]") {
  context_.now_nanos = 160 * kSecond - 1;
  CHECK(FindStall(producer_, context_) == std::nullopt);
  ++context_.now_nanos;
  CHECK(FindStall(producer_, context_) == Stall::kAsleep);
  producer_.has_retried = true;
  CHECK(FindStall(producer_, context_) == std::nullopt);
}

TEST_CASE_METHOD(StallPolicyTest,
                 "A producer that computes does not count as asleep",
                 "[producer][stall_policy]") {
  context_.now_nanos = 200 * kSecond;
  producer_.still_since_nanos = 141 * kSecond;
  CHECK(FindStall(producer_, context_) == std::nullopt);
  producer_.still_since_nanos = 140 * kSecond;
  CHECK(FindStall(producer_, context_) == Stall::kAsleep);
}

TEST_CASE_METHOD(StallPolicyTest, "A producer of slow tasks may sleep for long",
                 "[producer][stall_policy]") {
  context_.now_nanos = 200 * kSecond;
  context_.task_nanos = 6 * kSecond;
  CHECK(FindStall(producer_, context_) == std::nullopt);
  context_.task_nanos = 5 * kSecond;
  CHECK(FindStall(producer_, context_) == Stall::kAsleep);
}

TEST_CASE_METHOD(StallPolicyTest,
                 "A sleeping producer is waited for while nobody else works",
                 "[producer][stall_policy]") {
  context_.now_nanos = 200 * kSecond;
  StallContext others = context_;
  others.producer_answered_at_nanos = INT64_MIN;
  CHECK(FindStall(producer_, others) == std::nullopt);
  others = context_;
  others.host_answered_at_nanos = INT64_MIN;
  CHECK(FindStall(producer_, others) == std::nullopt);
}

}  // namespace
}  // namespace forebay::producer

#include "server/stream/worker_pool_watch.h"

#include <sys/mman.h>

#include <cstdint>
#include <memory>

#include "proto/shm_ring.h"
#include "server/slots/channel.h"
#include "server/stream/epoch_pair.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr std::int64_t kSecond = 1'000'000'000;

class WorkerPoolWatchTest {
 protected:
  WorkerPoolWatchTest()
      : release_(static_cast<proto::ReleaseRing*>(
            mmap(nullptr, proto::kRingBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                 channel_->release_fd(), 0))) {
    REQUIRE(release_ != MAP_FAILED);
    members_.Start(member_, EpochPair::Of(spec_.sampler, 0), 0, 0);
  }
  ~WorkerPoolWatchTest() { munmap(release_, proto::kRingBytes); }

  // Looks at a worker pool that was silent for `silent_nanos`.
  void Look(WorkerPoolWatch& watch, std::int64_t silent_nanos) {
    now_nanos_ += kSecond;
    CHECK(watch.BeginLook(&members_, cost_, now_nanos_).has_value());
    watch.EndLook(&members_, silent_nanos);
  }

  const StreamSpec spec_ = FakeStreamSpec(1000, 10);
  const std::unique_ptr<slots::Channel> channel_ = *slots::Channel::Create();
  proto::ReleaseRing* const release_;
  MemberSet members_{spec_.batch,
                     {.next_use_registry = nullptr, .dataset = spec_.dataset}};
  Member& member_ = members_.Join(channel_.get(), {.flow = 1, .slots = 4});
  const SampleCost cost_ = SampleCost::OfProduced();
  WorkerPoolWatch watch_{/*has_affinity=*/false, /*is_live=*/false};
  std::int64_t now_nanos_ = 0;
};

TEST_CASE_METHOD(WorkerPoolWatchTest,
                 "A member waits 0.8 s for another loader's worker pool",
                 "[stream][worker_pool_watch]") {
  watch_.SetOwner(member_.id() + 1);
  Look(watch_, 0);
  CHECK_FALSE(watch_.stands_still());
  Look(watch_, kSecond);
  CHECK(watch_.stands_still());
  UNSCOPED_INFO("the trainer itself did not wait");
  CHECK_THAT(watch_.EndOf(member_), IsOk());
  release_->wait_nanos = kSecond;
  CHECK_THAT(watch_.EndOf(member_), HasCode(absl::StatusCode::kAborted));
  Look(watch_, 0);
  CHECK_FALSE(watch_.stands_still());
  CHECK_THAT(watch_.EndOf(member_), IsOk());
}

TEST_CASE_METHOD(WorkerPoolWatchTest,
                 "A member waits 30 s for its own worker pool",
                 "[stream][worker_pool_watch]") {
  watch_.SetOwner(member_.id());
  release_->wait_nanos = 29 * kSecond;
  Look(watch_, 29 * kSecond);
  CHECK_THAT(watch_.EndOf(member_), IsOk());
  release_->wait_nanos = 31 * kSecond;
  Look(watch_, 31 * kSecond);
  CHECK_THAT(watch_.EndOf(member_), HasCode(absl::StatusCode::kAborted));
  member_.Stop();
  CHECK_THAT(watch_.EndOf(member_), IsOk());
}

TEST_CASE_METHOD(WorkerPoolWatchTest,
                 "Members of a live dataset wait for their worker pool",
                 "[stream][worker_pool_watch]") {
  WorkerPoolWatch watch(/*has_affinity=*/false, /*is_live=*/true);
  release_->wait_nanos = 100 * kSecond;
  Look(watch, 100 * kSecond);
  CHECK(watch.stands_still());
  CHECK_THAT(watch.EndOf(member_), IsOk());
}

TEST_CASE_METHOD(WorkerPoolWatchTest,
                 "Looks at a worker pool are half a second apart",
                 "[stream][worker_pool_watch]") {
  release_->wait_nanos = kSecond;
  const auto first = watch_.BeginLook(&members_, cost_, kSecond);
  REQUIRE(first.has_value());
  CHECK(first->is_awaited);
  CHECK(first->may_retry);
  CHECK(first->task_nanos == cost_.task_nanos());
  CHECK_FALSE(
      watch_.BeginLook(&members_, cost_, kSecond * 3 / 2 - 1).has_value());
  const auto second = watch_.BeginLook(&members_, cost_, kSecond * 3 / 2);
  REQUIRE(second.has_value());
  CHECK_FALSE(second->is_awaited);
}

TEST_CASE_METHOD(WorkerPoolWatchTest,
                 "No other worker retries a sample with worker affinity",
                 "[stream][worker_pool_watch]") {
  WorkerPoolWatch watch(/*has_affinity=*/true, /*is_live=*/false);
  const auto need = watch.BeginLook(&members_, cost_, kSecond);
  REQUIRE(need.has_value());
  CHECK_FALSE(need->may_retry);
}

}  // namespace
}  // namespace forebay::stream

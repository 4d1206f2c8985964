// Tests of streams whose samples are made by workers, which may be stopped.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/stream/stream_produced_fixture.h"

namespace forebay::stream {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

using proto::WorkerCommand;

TEST_CASE_METHOD(StreamProducedTest, "Workers make all samples of a stream",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartWorkers(client);
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    REQUIRE_THAT(client.Start(epoch, 0), IsOk());
    CHECK(ReadAll(client) == All());
  }
  CHECK(workers_->made() == 2 * kSamples);
}

TEST_CASE_METHOD(StreamProducedTest, "Workers that take no task cost no sample",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartWorkers(client);
  workers_->EndAtOnce(10);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  CHECK(ReadAll(client) == All());
}

TEST_CASE_METHOD(StreamProducedTest,
                 "A sample that no worker takes ends the epoch",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartWorkers(client);
  workers_->EndAtOnce(1000);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  CHECK(Next(client).kind == proto::ReadyKind::kError);
  CHECK_THAT(client.error(), Contains("worker processes ended"));
}

TEST_CASE_METHOD(StreamProducedTest,
                 "A stream of workers starts nothing without a worker pool",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  CHECK_THAT(client.Start(0, 0),
             HasCode(absl::StatusCode::kFailedPrecondition));
  StartWorkers(client);
  workers_.reset();
  RunUntil([&] { return stream_->HasEnded(); });
  CHECK_THAT(client.Start(0, 0), HasCode(absl::StatusCode::kUnavailable));
}

TEST_CASE_METHOD(StreamProducedTest,
                 "Nobody waits for a stopped worker pool to map slots or fork",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartWorkers(client);
  workers_->Stop();
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  production_.RunAll();
  UNSCOPED_INFO("no task of the executor waits");
  CHECK(production_.tasks() == 0);
  CHECK(stream_->Snapshot(client.member()).slots == 0);
  workers_->Continue();
  CHECK(ReadAll(client) == All());
  REQUIRE_THAT(client.Start(1, 0), IsOk());
  CHECK(ReadAll(client) == All());
}

TEST_CASE_METHOD(
    StreamProducedTest,
    "Tasks wait for forks of a stopped worker pool without a thread",
    "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartWorkers(client);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  RunUntil([&] { return stream_->Snapshot(client.member()).slots > 0; });
  workers_->Stop();
  production_.RunAll();
  CHECK(production_.tasks() == 0);
  workers_->Continue();
  CHECK(ReadAll(client) == All());
}

TEST_CASE_METHOD(
    StreamProducedTest,
    "A worker pool that is gone before it maps the slots ends the epoch",
    "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartWorkers(client);
  workers_->Stop();
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  workers_->Leave();
  CHECK(Next(client).kind == proto::ReadyKind::kError);
  CHECK(stream_->HasEnded());
}

TEST_CASE_METHOD(
    StreamProducedTest,
    "A worker pool that is gone ends the epoch though others keep the slots",
    "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartWorkers(client);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  RunUntil([&] {
    const auto snapshot = stream_->Snapshot(client.member());
    return snapshot.slots > 0 && snapshot.leases == snapshot.slots;
  });
  workers_->Stop();
  FakeClient& other = Join();
  REQUIRE_THAT(other.Start(0, kSamples - 4), IsOk());
  production_.RunAll();
  workers_->Leave();
  CHECK(Next(other).kind == proto::ReadyKind::kError);
}

TEST_CASE_METHOD(
    StreamProducedTest,
    "Memory stays booked until a stopped worker pool has unmapped it",
    "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartWorkers(client);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  CHECK(ReadAll(client) == All());
  const std::uint64_t before = production_.budget().used();
  workers_->Stop();
  REQUIRE(stream_->Reclaim(0));
  CHECK(stream_->Snapshot(client.member()).slots == 0);
  CHECK(production_.budget().used() == before);
  stream_->Close(client.member());
  CHECK(production_.budget().used() > 0);
  workers_->Continue();
  RunUntil([&] { return production_.budget().used() == 0; });
}

TEST_CASE_METHOD(StreamProducedTest,
                 "Persistent workers outlive a rest of their stream",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  // Without the limit, a second worker could be forked only in the second
  // epoch.
  StartWorkers(client, /*most=*/1, /*are_persistent=*/true);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  CHECK(ReadAll(client) == All());
  const std::uint64_t before = production_.budget().used();
  const int forked = workers_->asked(WorkerCommand::kFork);
  CHECK_FALSE(stream_->Reclaim(0));
  CHECK(production_.budget().used() == before);
  REQUIRE_THAT(client.Start(1, 0), IsOk());
  CHECK(ReadAll(client) == All());
  CHECK(workers_->asked(WorkerCommand::kFork) == forked);
  stream_->Close(client.member());
  RunUntil([&] { return production_.budget().used() == 0; });
}

TEST_CASE_METHOD(StreamProducedTest,
                 "Slots of persistent workers that ended are reclaimed",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartWorkers(client, /*most=*/2, /*are_persistent=*/true);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  CHECK(ReadAll(client) == All());
  workers_->Leave();
  RunUntil([&] { return stream_->HasEnded(); });
  CHECK(stream_->Reclaim(0));
}

TEST_CASE_METHOD(StreamProducedTest,
                 "Persistent workers outlive another loader",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  FakeClient& other = Join();
  // Without the limit, a second worker could be forked only in the second
  // epoch.
  StartWorkers(client, /*most=*/1, /*are_persistent=*/true);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  CHECK(ReadAll(client) == All());
  const int forked = workers_->asked(WorkerCommand::kFork);
  stream_->Close(other.member());
  REQUIRE_THAT(client.Start(1, 0), IsOk());
  CHECK(ReadAll(client) == All());
  CHECK(workers_->asked(WorkerCommand::kFork) == forked);
}

TEST_CASE_METHOD(StreamProducedTest,
                 "A stream of workers waits for its memory to come back "
                 "before it takes more",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartWorkers(client);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  CHECK(ReadAll(client) == All());
  workers_->Stop();
  REQUIRE(stream_->Reclaim(0));
  const std::uint64_t before = production_.budget().used();
  const int mapped = workers_->asked(WorkerCommand::kMapSlot);
  REQUIRE_THAT(client.Start(1, 0), IsOk());
  production_.RunAll();
  CHECK(production_.budget().used() == before);
  CHECK(workers_->asked(WorkerCommand::kMapSlot) == mapped);
  workers_->Continue();
  CHECK(ReadAll(client) == All());
  CHECK(production_.budget().used() == before);
}

TEST_CASE_METHOD(StreamProducedTest,
                 "A paused job goes on when it is continued",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartWorkers(client);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  const proto::ReadyEntry first = Next(client);
  workers_->Stop();
  REQUIRE_THAT(client.Release(first), IsOk());
  // The trainer is paused, too, so it is not waiting.
  PassSeconds(3600, {});
  workers_->Continue();
  CHECK(ReadAll(client).size() == kSamples - 4);
}

TEST_CASE_METHOD(
    StreamProducedTest,
    "A member may leave while another member's worker pool stands still",
    "[stream][stream_produced]") {
  FakeClient& owner = Join();
  StartWorkers(owner);
  REQUIRE_THAT(owner.Start(0, 0), IsOk());
  FakeClient& other = Join();
  REQUIRE_THAT(other.Start(0, 0), IsOk());
  const proto::ReadyEntry first = Next(owner);
  CHECK(Next(other).slot == first.slot);
  workers_->Stop();
  REQUIRE_THAT(owner.Release(first), IsOk());
  REQUIRE_THAT(other.Release(first), IsOk());
  // First come batches that were made in time.
  std::optional<proto::ReadyEntry> entry;
  while (!entry.has_value() || entry->kind == proto::ReadyKind::kBatch) {
    PassSeconds(1, {&other});
    entry = other.Take();
    if (entry.has_value() && entry->kind == proto::ReadyKind::kBatch) {
      REQUIRE_THAT(other.Release(*entry), IsOk());
    }
  }
  CHECK(entry->kind == proto::ReadyKind::kError);
  UNSCOPED_INFO("new members need another");
  CHECK(stream_->HasEnded());
  stream_->Close(other.member());
  PassSeconds(3600, {});
  workers_->Continue();
  UNSCOPED_INFO("nothing is lost");
  CHECK(ReadAll(owner).size() == kSamples - 4);
  // The stream may look before the waiter's thread has received the pool's
  // answer.
  RunUntil([&] {
    PassSeconds(1, {});
    return !stream_->HasEnded();
  });
}

TEST_CASE_METHOD(
    StreamProducedTest,
    "A member's own worker pool may be silent for longer than another's",
    "[stream][stream_produced]") {
  FakeClient& owner = Join();
  StartWorkers(owner);
  REQUIRE_THAT(owner.Start(0, 0), IsOk());
  REQUIRE_THAT(owner.Release(Next(owner)), IsOk());
  workers_->Stop();
  int seconds = 0;
  std::optional<proto::ReadyEntry> entry;
  while (!entry.has_value() || entry->kind == proto::ReadyKind::kBatch) {
    PassSeconds(1, {&owner});
    ++seconds;
    entry = owner.Take();
    if (entry.has_value() && entry->kind == proto::ReadyKind::kBatch) {
      REQUIRE_THAT(owner.Release(*entry), IsOk());
    }
  }
  CHECK(entry->kind == proto::ReadyKind::kError);
  CHECK(seconds > 29);
  workers_->Continue();
}

TEST_CASE_METHOD(
    StreamProducedTest,
    "Only the time in which the worker pool stood still counts against it",
    "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartWorkers(client, /*most=*/1);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  std::vector<proto::ReadyEntry> held;
  while (held.size() < SlotsFor(0)) held.push_back(Next(client));
  // The trainer waits for a long time, but the worker pool has no order.
  PassSeconds(100, {&client});
  // The whole job is then paused, so no trainer waits.
  workers_->Stop();
  for (const proto::ReadyEntry& entry : held)
    REQUIRE_THAT(client.Release(entry), IsOk());
  PassSeconds(3600, {});
  workers_->Continue();
  CHECK(ReadAll(client).size() == kSamples - 4 * held.size());
}

TEST_CASE_METHOD(
    StreamProducedTest,
    "A worker pool counts as standing still only if a look saw that",
    "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartWorkers(client);
  workers_->Stop();
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  production_.RunAll();
  production_.clock().Advance(100 * kSecond);
  UNSCOPED_INFO("it may have worked meanwhile");
  CHECK_FALSE(stream_->HasEnded());
  PassSeconds(3, {});
  CHECK(stream_->HasEnded());
  workers_->Continue();
  CHECK(ReadAll(client) == All());
}

TEST_CASE_METHOD(
    StreamProducedTest,
    "First slots stay booked while a stopped worker pool may map them",
    "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartWorkers(client);
  workers_->Stop();
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  production_.RunAll();
  stream_->Close(client.member());
  Settle();
  Settle();
  CHECK(production_.budget().used() >= stream_->slot_size().host);
  workers_->Continue();
  RunUntil([&] { return production_.budget().used() == 0; });
}

TEST_CASE_METHOD(
    StreamProducedTest,
    "Slots stay booked while a stopped worker pool outlives the stream",
    "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartWorkers(client);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  const proto::ReadyEntry entry = Next(client);
  REQUIRE(entry.kind == proto::ReadyKind::kBatch);
  workers_->Stop();
  const std::uint64_t bytes = stream_->slot_size().host;
  clients_.clear();
  stream_.reset();
  // The stream's tasks in the executor may keep the stream alive.
  production_.RunAll();
  Settle();
  CHECK(production_.budget().used() >= bytes);
  workers_->Leave();
  RunUntil([&] { return production_.budget().used() == 0; });
}

}  // namespace
}  // namespace forebay::stream

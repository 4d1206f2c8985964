// Tests of streams whose samples producers make, which may be stopped.

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

using proto::ProducerCommand;

TEST_CASE_METHOD(StreamProducedTest, "Producers make all samples of a stream",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartProducers(client);
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    REQUIRE_THAT(client.Start(epoch, 0), IsOk());
    CHECK(ReadAll(client) == All());
  }
  CHECK(producers_->made() == 2 * kSamples);
}

TEST_CASE_METHOD(StreamProducedTest,
                 "Producers that take no task cost no sample",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartProducers(client);
  producers_->EndAtOnce(10);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  CHECK(ReadAll(client) == All());
}

TEST_CASE_METHOD(StreamProducedTest,
                 "A sample that no producer takes ends the epoch",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartProducers(client);
  producers_->EndAtOnce(1000);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  CHECK(Next(client).kind == proto::ReadyKind::kError);
  CHECK_THAT(client.error(), Contains("worker processes ended"));
}

TEST_CASE_METHOD(StreamProducedTest,
                 "A stream of producers starts nothing without a host",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  CHECK_THAT(client.Start(0, 0),
             HasCode(absl::StatusCode::kFailedPrecondition));
  StartProducers(client);
  producers_.reset();
  RunUntil([&] { return stream_->HasEnded(); });
  CHECK_THAT(client.Start(0, 0), HasCode(absl::StatusCode::kUnavailable));
}

TEST_CASE_METHOD(StreamProducedTest,
                 "Nobody waits for a stopped host to map slots or fork",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartProducers(client);
  producers_->Stop();
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  production_.RunAll();
  UNSCOPED_INFO("no task of the executor waits");
  CHECK(production_.tasks() == 0);
  CHECK(stream_->Snapshot(client.member()).slots == 0);
  producers_->Continue();
  CHECK(ReadAll(client) == All());
  REQUIRE_THAT(client.Start(1, 0), IsOk());
  CHECK(ReadAll(client) == All());
}

TEST_CASE_METHOD(StreamProducedTest,
                 "Tasks wait for forks of a stopped host without a worker",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartProducers(client);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  RunUntil([&] { return stream_->Snapshot(client.member()).slots > 0; });
  producers_->Stop();
  production_.RunAll();
  CHECK(production_.tasks() == 0);
  producers_->Continue();
  CHECK(ReadAll(client) == All());
}

TEST_CASE_METHOD(StreamProducedTest,
                 "A host that is gone before it maps the slots ends the epoch",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartProducers(client);
  producers_->Stop();
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  producers_->Leave();
  CHECK(Next(client).kind == proto::ReadyKind::kError);
  CHECK(stream_->HasEnded());
}

TEST_CASE_METHOD(
    StreamProducedTest,
    "A host that is gone ends the epoch though others keep the slots",
    "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartProducers(client);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  RunUntil([&] {
    const auto snapshot = stream_->Snapshot(client.member());
    return snapshot.slots > 0 && snapshot.leases == snapshot.slots;
  });
  producers_->Stop();
  FakeClient& other = Join();
  REQUIRE_THAT(other.Start(0, kSamples - 4), IsOk());
  production_.RunAll();
  producers_->Leave();
  CHECK(Next(other).kind == proto::ReadyKind::kError);
}

TEST_CASE_METHOD(StreamProducedTest,
                 "Memory stays booked until a stopped host has unmapped it",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartProducers(client);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  CHECK(ReadAll(client) == All());
  const std::uint64_t before = production_.budget().used();
  producers_->Stop();
  REQUIRE(stream_->Reclaim(0));
  CHECK(stream_->Snapshot(client.member()).slots == 0);
  CHECK(production_.budget().used() == before);
  stream_->Close(client.member());
  CHECK(production_.budget().used() > 0);
  producers_->Continue();
  RunUntil([&] { return production_.budget().used() == 0; });
}

TEST_CASE_METHOD(StreamProducedTest,
                 "Persistent producers outlive a rest of their stream",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartProducers(client, /*most=*/2, /*are_persistent=*/true);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  CHECK(ReadAll(client) == All());
  const std::uint64_t before = production_.budget().used();
  const int forked = producers_->asked(ProducerCommand::kFork);
  CHECK_FALSE(stream_->Reclaim(0));
  CHECK(production_.budget().used() == before);
  REQUIRE_THAT(client.Start(1, 0), IsOk());
  CHECK(ReadAll(client) == All());
  CHECK(producers_->asked(ProducerCommand::kFork) == forked);
  stream_->Close(client.member());
  RunUntil([&] { return production_.budget().used() == 0; });
}

TEST_CASE_METHOD(StreamProducedTest,
                 "Slots of persistent producers that ended are reclaimed",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartProducers(client, /*most=*/2, /*are_persistent=*/true);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  CHECK(ReadAll(client) == All());
  producers_->Leave();
  RunUntil([&] { return stream_->HasEnded(); });
  CHECK(stream_->Reclaim(0));
}

TEST_CASE_METHOD(StreamProducedTest,
                 "Persistent producers outlive another loader",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  FakeClient& other = Join();
  StartProducers(client, /*most=*/2, /*are_persistent=*/true);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  CHECK(ReadAll(client) == All());
  const int forked = producers_->asked(ProducerCommand::kFork);
  stream_->Close(other.member());
  REQUIRE_THAT(client.Start(1, 0), IsOk());
  CHECK(ReadAll(client) == All());
  CHECK(producers_->asked(ProducerCommand::kFork) == forked);
}

TEST_CASE_METHOD(StreamProducedTest,
                 "A stream of producers waits for its memory to come back "
                 "before it takes more",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartProducers(client);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  CHECK(ReadAll(client) == All());
  producers_->Stop();
  REQUIRE(stream_->Reclaim(0));
  const std::uint64_t before = production_.budget().used();
  const int mapped = producers_->asked(ProducerCommand::kMapSlot);
  REQUIRE_THAT(client.Start(1, 0), IsOk());
  production_.RunAll();
  CHECK(production_.budget().used() == before);
  CHECK(producers_->asked(ProducerCommand::kMapSlot) == mapped);
  producers_->Continue();
  CHECK(ReadAll(client) == All());
  CHECK(production_.budget().used() == before);
}

TEST_CASE_METHOD(StreamProducedTest,
                 "A paused job goes on when it is continued",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartProducers(client);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  const proto::ReadyEntry first = Next(client);
  producers_->Stop();
  REQUIRE_THAT(client.Release(first), IsOk());
  // Its trainer is paused, too, so that it does not wait.
  PassSeconds(3600, {});
  producers_->Continue();
  CHECK(ReadAll(client).size() == kSamples - 4);
}

TEST_CASE_METHOD(StreamProducedTest,
                 "A member may leave while another member's host stands still",
                 "[stream][stream_produced]") {
  FakeClient& owner = Join();
  StartProducers(owner);
  REQUIRE_THAT(owner.Start(0, 0), IsOk());
  FakeClient& other = Join();
  REQUIRE_THAT(other.Start(0, 0), IsOk());
  const proto::ReadyEntry first = Next(owner);
  CHECK(Next(other).slot == first.slot);
  producers_->Stop();
  REQUIRE_THAT(owner.Release(first), IsOk());
  REQUIRE_THAT(other.Release(first), IsOk());
  // Those that were made in time come first.
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
  producers_->Continue();
  UNSCOPED_INFO("nothing is lost");
  CHECK(ReadAll(owner).size() == kSamples - 4);
  PassSeconds(1, {});
  CHECK_FALSE(stream_->HasEnded());
}

TEST_CASE_METHOD(StreamProducedTest,
                 "A member's own host may be silent for longer than another's",
                 "[stream][stream_produced]") {
  FakeClient& owner = Join();
  StartProducers(owner);
  REQUIRE_THAT(owner.Start(0, 0), IsOk());
  REQUIRE_THAT(owner.Release(Next(owner)), IsOk());
  producers_->Stop();
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
  producers_->Continue();
}

TEST_CASE_METHOD(
    StreamProducedTest,
    "Only the time in which the host stood still counts against it",
    "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartProducers(client, /*most=*/1);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  std::vector<proto::ReadyEntry> held;
  while (held.size() < SlotsFor(0)) held.push_back(Next(client));
  // Its trainer waits for long, while nothing is asked of the host.
  PassSeconds(100, {&client});
  // Then all of the job is paused, so that nobody waits.
  producers_->Stop();
  for (const proto::ReadyEntry& entry : held)
    REQUIRE_THAT(client.Release(entry), IsOk());
  PassSeconds(3600, {});
  producers_->Continue();
  CHECK(ReadAll(client).size() == kSamples - 4 * held.size());
}

TEST_CASE_METHOD(StreamProducedTest,
                 "A host counts as standing still only if a look saw that",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartProducers(client);
  producers_->Stop();
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  production_.RunAll();
  production_.clock().Advance(100 * kSecond);
  UNSCOPED_INFO("it may have worked meanwhile");
  CHECK_FALSE(stream_->HasEnded());
  PassSeconds(3, {});
  CHECK(stream_->HasEnded());
  producers_->Continue();
  CHECK(ReadAll(client) == All());
}

TEST_CASE_METHOD(StreamProducedTest,
                 "First slots stay booked while a stopped host may map them",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartProducers(client);
  producers_->Stop();
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  production_.RunAll();
  stream_->Close(client.member());
  Settle();
  Settle();
  CHECK(production_.budget().used() >= stream_->slot_size().host);
  producers_->Continue();
  RunUntil([&] { return production_.budget().used() == 0; });
}

TEST_CASE_METHOD(StreamProducedTest,
                 "Slots stay booked while a stopped host outlives the stream",
                 "[stream][stream_produced]") {
  FakeClient& client = Join();
  StartProducers(client);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  const proto::ReadyEntry entry = Next(client);
  REQUIRE(entry.kind == proto::ReadyKind::kBatch);
  producers_->Stop();
  const std::uint64_t bytes = stream_->slot_size().host;
  clients_.clear();
  stream_.reset();
  // Its tasks of the executor may keep it.
  production_.RunAll();
  Settle();
  CHECK(production_.budget().used() >= bytes);
  producers_->Leave();
  RunUntil([&] { return production_.budget().used() == 0; });
}

}  // namespace
}  // namespace forebay::stream

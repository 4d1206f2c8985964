// Tests of streams whose worker pool cannot get descriptors, processes or
// address space.

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/stream/stream_produced_fixture.h"

namespace forebay::stream {
namespace {

using tests::Contains;
using tests::IsOk;

TEST_CASE_METHOD(StreamProducedTest,
                 "Slots that cannot be mapped end the epoch",
                 "[stream][stream_lacking_pool]") {
  FakeClient& client = Join();
  StartWorkers(client);
  workers_->Refuse("no address space");
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  CHECK(Next(client).kind == proto::ReadyKind::kError);
  CHECK(client.error() == "no address space");
  workers_->Refuse("");
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  CHECK(ReadAll(client) == All());
}

TEST_CASE_METHOD(StreamProducedTest,
                 "Forks that lack means end the epoch by that error",
                 "[stream][stream_lacking_pool]") {
  FakeClient& client = Join();
  StartWorkers(client);
  workers_->RefuseForks("no process can be had");
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  CHECK(Next(client).kind == proto::ReadyKind::kError);
  CHECK(client.error_code() == absl::StatusCode::kResourceExhausted);
  CHECK(client.error() == "no process can be had");
}

TEST_CASE_METHOD(
    StreamProducedTest,
    "What a worker pool lacks ends the epochs of others as its end does",
    "[stream][stream_lacking_pool]") {
  FakeClient& owner = Join();
  StartWorkers(owner);
  FakeClient& other = Join();
  for (const bool forks : {false, true}) {
    if (forks) workers_->RefuseForks("no process can be had");
    if (!forks) workers_->Refuse("no address space");
    REQUIRE_THAT(owner.Start(0, 0), IsOk());
    REQUIRE_THAT(other.Start(0, 0), IsOk());
    CHECK(Next(owner).kind == proto::ReadyKind::kError);
    CHECK(owner.error_code() == absl::StatusCode::kResourceExhausted);
    CHECK(Next(other).kind == proto::ReadyKind::kError);
    CHECK(other.error_code() == absl::StatusCode::kAborted);
    CHECK_THAT(other.error(), Contains(owner.error()));
    // Other members find another worker pool, unless this pool works again.
    CHECK(stream_->HasEnded());
    workers_->Refuse("");
  }
}

TEST_CASE_METHOD(
    StreamProducedTest,
    "A worker pool that maps no more slots ends the epochs that share them",
    "[stream][stream_lacking_pool]") {
  FakeClient& owner = Join();
  StartWorkers(owner);
  REQUIRE_THAT(owner.Start(0, 0), IsOk());
  REQUIRE_THAT(owner.Release(Next(owner)), IsOk());
  workers_->Refuse("no address space");
  // The trainer of the other member keeps all batches that it takes.
  FakeClient& other = Join();
  REQUIRE_THAT(other.Start(0, 0), IsOk());
  proto::ReadyEntry entry = Next(other);
  while (entry.kind == proto::ReadyKind::kBatch) {
    if (const auto taken = owner.Take())
      REQUIRE_THAT(owner.Release(*taken), IsOk());
    entry = Next(other);
  }
  CHECK(entry.kind == proto::ReadyKind::kError);
  CHECK(other.error_code() == absl::StatusCode::kAborted);
  while ((entry = Next(owner)).kind == proto::ReadyKind::kBatch)
    REQUIRE_THAT(owner.Release(entry), IsOk());
  CHECK(owner.error_code() == absl::StatusCode::kResourceExhausted);
  CHECK(owner.error() == "no address space");
  CHECK(stream_->HasEnded());
}

TEST_CASE_METHOD(
    StreamProducedTest,
    "A worker pool that no longer lacks anything serves others again",
    "[stream][stream_lacking_pool]") {
  FakeClient& owner = Join();
  StartWorkers(owner);
  workers_->Refuse("no address space");
  REQUIRE_THAT(owner.Start(0, 0), IsOk());
  CHECK(Next(owner).kind == proto::ReadyKind::kError);
  CHECK(stream_->HasEnded());
  workers_->Refuse("");
  REQUIRE_THAT(owner.Start(0, 0), IsOk());
  CHECK(ReadAll(owner) == All());
  CHECK_FALSE(stream_->HasEnded());
}

}  // namespace
}  // namespace forebay::stream

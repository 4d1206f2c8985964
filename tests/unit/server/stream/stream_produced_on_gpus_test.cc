// Tests of streams on GPUs whose samples are made by workers, which may be
// stopped.

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/stream/stream_produced_fixture.h"

namespace forebay::stream {
namespace {

using tests::HasCode;
using tests::IsOk;

using proto::WorkerCommand;

class StreamProducedOnGpusTest : public StreamProducedTest {
 protected:
  StreamProducedOnGpusTest() : StreamProducedTest(proto::Place::kDevice) {}
};

TEST_CASE_METHOD(
    StreamProducedOnGpusTest,
    "GPU memory that a host leaves when it is gone is freed on a thread aside",
    "[stream][stream_produced_on_gpus]") {
  keeps_aside_ = true;
  FakeClient& client = Join(a_.device);
  StartWorkers(client);
  workers_->Stop();
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  production_.RunAll();
  const std::uint64_t allocated = a_.gpu->allocated();
  REQUIRE(allocated > 0);
  workers_->Leave();
  CHECK(Next(client).kind == proto::ReadyKind::kError);
  Settle();
  UNSCOPED_INFO("not on the waiter's thread");
  CHECK(a_.gpu->allocated() == allocated);
  RunAside();
  CHECK(a_.gpu->allocated() == 0);
}

TEST_CASE_METHOD(StreamProducedOnGpusTest,
                 "A stream of workers on a GPU ends on a thread aside",
                 "[stream][stream_produced_on_gpus]") {
  keeps_aside_ = true;
  FakeClient& client = Join(a_.device);
  StartWorkers(client);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  CHECK(ReadAll(client) == All());
  clients_.clear();
  const std::weak_ptr<Stream> ended = stream_;
  stream_.reset();
  workers_.reset();
  RunUntil([&] { return ended.expired(); });
  Settle();
  CHECK(a_.gpu->allocated() > 0);
  RunAside();
  CHECK(a_.gpu->allocated() == 0);
}

TEST_CASE_METHOD(
    StreamProducedOnGpusTest,
    "A GPU that fails harms no other GPU's member of a stream of workers",
    "[stream][stream_produced_on_gpus]") {
  FakeClient& one = Join(a_.device);
  StartWorkers(one);
  workers_->Stop();
  REQUIRE_THAT(one.Start(0, 0), IsOk());
  production_.RunAll();
  FakeClient& other = Join(b_.device);
  b_.gpu->Fail(absl::ResourceExhaustedError("no memory there"));
  CHECK_THAT(other.Start(0, 0), HasCode(absl::StatusCode::kResourceExhausted));
  workers_->Continue();
  const proto::ReadyEntry first = Next(one);
  CAPTURE(one.error());
  REQUIRE(first.kind == proto::ReadyKind::kBatch);
  REQUIRE_THAT(one.Release(first), IsOk());
  CHECK(ReadAll(one).size() == kSamples - 4);
  b_.gpu->Fail(absl::OkStatus());
  REQUIRE_THAT(other.Start(0, 0), IsOk());
  CHECK(ReadAll(other) == All());
}

TEST_CASE_METHOD(StreamProducedOnGpusTest,
                 "Staging memory for workers is made once",
                 "[stream][stream_produced_on_gpus]") {
  FakeClient& client = Join(a_.device);
  StartWorkers(client);
  workers_->Stop();
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  // The stream plans several times meanwhile. It must not make the memory
  // again.
  PassSeconds(3, {});
  workers_->Continue();
  CHECK(ReadAll(client) == All());
  const int slots = static_cast<int>(stream_->Snapshot(client.member()).slots);
  CHECK(workers_->asked(WorkerCommand::kMapSlot) == 2 * slots);
}

TEST_CASE_METHOD(StreamProducedOnGpusTest,
                 "Nobody waits for a stopped host to map staging memory",
                 "[stream][stream_produced_on_gpus]") {
  FakeClient& client = Join(a_.device);
  StartWorkers(client);
  workers_->Stop();
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  production_.RunAll();
  CHECK(production_.tasks() == 0);
  workers_->Continue();
  CHECK(ReadAll(client) == All());
}

TEST_CASE_METHOD(StreamProducedOnGpusTest,
                 "Another GPU may come while a host maps the first slots",
                 "[stream][stream_produced_on_gpus]") {
  FakeClient& one = Join(a_.device);
  StartWorkers(one);
  workers_->Stop();
  REQUIRE_THAT(one.Start(0, 0), IsOk());
  FakeClient& other = Join(b_.device);
  REQUIRE_THAT(other.Start(0, 0), IsOk());
  workers_->Continue();
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 0; i < kSamples / 4; ++i) {
    for (FakeClient* const client : {&one, &other}) {
      const proto::ReadyEntry entry = Next(*client);
      CAPTURE(client->error());
      REQUIRE(entry.kind == proto::ReadyKind::kBatch);
      const auto batch = client->Read(entry);
      ids.insert(ids.end(), batch.begin(), batch.end());
      REQUIRE_THAT(client->Release(entry), IsOk());
    }
  }
  CHECK(ids.size() == 2 * kSamples);
  CHECK(workers_->made() == kSamples);
}

TEST_CASE_METHOD(StreamProducedOnGpusTest,
                 "Staging memory stays booked while a host has it mapped",
                 "[stream][stream_produced_on_gpus]") {
  FakeClient& client = Join(a_.device);
  StartWorkers(client);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  CHECK(ReadAll(client) == All());
  const std::uint64_t before = production_.budget().used();
  workers_->Stop();
  REQUIRE(stream_->Reclaim(0));
  CHECK(production_.budget().used() == before);
  REQUIRE_THAT(client.Start(1, 0), IsOk());
  production_.RunAll();
  CHECK(production_.budget().used() == before);
  workers_->Continue();
  CHECK(ReadAll(client) == All());
  CHECK(production_.budget().used() == before);
}

TEST_CASE_METHOD(StreamProducedOnGpusTest,
                 "Staging memory that cannot be mapped ends the epoch",
                 "[stream][stream_produced_on_gpus]") {
  FakeClient& client = Join(a_.device);
  StartWorkers(client);
  workers_->Refuse("no address space");
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  CHECK(Next(client).kind == proto::ReadyKind::kError);
  workers_->Refuse("");
  // Slots of the previous epoch may still be refused.
  proto::ReadyEntry first;
  do {
    REQUIRE_THAT(client.Start(0, 0), IsOk());
    first = Next(client);
  } while (first.kind == proto::ReadyKind::kError);
  REQUIRE_THAT(client.Release(first), IsOk());
  CHECK(ReadAll(client).size() == kSamples - 4);
}

}  // namespace
}  // namespace forebay::stream

// Tests of a stream with members of jobs that have caps.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/job.pb.h"
#include "server/stream/stream.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/fake_root.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

using tests::IsOk;

constexpr std::uint64_t kSamples = 1000;
constexpr std::uint64_t kBatch = 10;
constexpr schedule::Flow kFree = 10;
constexpr schedule::Flow kCapped = 11;

class StreamCapsTest {
 protected:
  void Make(std::uint64_t sample_bytes = 100) {
    free_ = nullptr;
    capped_ = nullptr;
    spec_.emplace(FakeStreamSpec(
        kSamples, kBatch, [](proto::LoaderSpec&) {}, sample_bytes));
    stream_ = *Stream::Create(*spec_, production_.deps());
    free_ = std::make_unique<FakeClient>(stream_.get(), kFree);
    capped_ = std::make_unique<FakeClient>(stream_.get(), kCapped);
    stream_->SetCapped(capped_->member(), true);
  }
  // Takes the spare memory, so that the stream keeps few batches for members
  // behind.
  void TakeMemory() {
    base::MemoryBudget& budget = production_.budget();
    others_ = *budget.Reserve(budget.limit() - budget.used() - 1, "others");
  }
  // Takes all batches that are ready or can be made. Returns the number of
  // samples in them.
  std::uint64_t Consume(FakeClient& client) {
    std::uint64_t samples = 0;
    for (;;) {
      production_.RunAll();
      const auto entry = client.Take();
      if (!entry.has_value() || entry->kind != proto::ReadyKind::kBatch)
        return samples;
      samples += client.Read(*entry).size();
      CHECK_THAT(client.Release(*entry), IsOk());
    }
  }

  FakeProduction production_{7};
  base::MemoryReservation others_;
  std::optional<StreamSpec> spec_;
  std::shared_ptr<Stream> stream_;
  std::unique_ptr<FakeClient> free_;
  std::unique_ptr<FakeClient> capped_;
};

TEST_CASE_METHOD(StreamCapsTest,
                 "Reads of a stream are charged to all members that run",
                 "[stream][stream_caps]") {
  Make();
  REQUIRE_THAT(free_->Start(0, 0), IsOk());
  CHECK(production_.first_read().purpose.payers == nullptr);
  CHECK(production_.first_read().purpose.job == kFree);
  production_.RunAll();
  REQUIRE_THAT(capped_->Start(0, 0), IsOk());
  const auto entry = free_->Take();
  REQUIRE_THAT(free_->Release(*entry), IsOk());
  production_.RunTasks();  // one of the tasks makes a slot
  REQUIRE(production_.reads() > 0);
  const auto payers = storage::PayersOf(production_.first_read().purpose);
  CHECK(std::vector<schedule::Flow>(payers.begin(), payers.end()) ==
        std::vector<schedule::Flow>{kFree, kCapped});
  production_.CompleteReads();
  CHECK(production_.flows() == std::vector<schedule::Flow>{kFree, kCapped});
}

// At first, only the member that begins a batch is charged for it.
TEST_CASE_METHOD(StreamCapsTest,
                 "No cap holds up what several members want whoever came first",
                 "[stream][stream_caps]") {
  for (const bool reads : {false, true}) {
    CAPTURE(reads);
    Make();
    reads ? production_.CapReads(kCapped) : production_.CapTasks(kCapped);
    REQUIRE_THAT(capped_->Start(0, 0), IsOk());
    CHECK(Consume(*capped_) == 0);
    REQUIRE_THAT(free_->Start(0, 0), IsOk());
    std::uint64_t of_free = 0;
    std::uint64_t of_capped = 0;
    for (int i = 0; i < 1000 && of_free + of_capped < 2 * kSamples; ++i) {
      of_free += Consume(*free_);
      of_capped += Consume(*capped_);
    }
    CHECK(of_free == kSamples);
    UNSCOPED_INFO("it gets what the other takes for it");
    CHECK(of_capped == kSamples);
    production_.LiftCaps();
  }
}

// A source may delay reads for a job without a cap, because that job's other
// reads hang.
TEST_CASE_METHOD(StreamCapsTest,
                 "A source holds up nothing that a stream's later member wants",
                 "[stream][stream_caps]") {
  Make();
  stream_->SetCapped(capped_->member(), false);
  production_.CapReads(kCapped);
  REQUIRE_THAT(capped_->Start(0, 0), IsOk());
  CHECK(Consume(*capped_) == 0);
  REQUIRE_THAT(free_->Start(0, 0), IsOk());
  std::uint64_t of_free = 0;
  for (int i = 0; i < 1000 && of_free < kSamples; ++i) {
    of_free += Consume(*free_);
    Consume(*capped_);
  }
  CHECK(of_free == kSamples);
  production_.LiftCaps();
}

// If a root has no identity, no read can join another one. If a read were made
// again for another member, the bytes would be read twice.
TEST_CASE_METHOD(StreamCapsTest,
                 "A read that nobody can join is not asked for again",
                 "[stream][stream_caps]") {
  for (const bool named : {true, false}) {
    CAPTURE(named);
    FakeProduction production{7};
    StreamSpec stream_spec = FakeStreamSpec(kSamples, kBatch);
    storage::FakeRoot::Options root = {.uri = "/data"};
    if (named) root.identity = root.uri;
    stream_spec.dataset = std::make_shared<NumberedDataset>(
        kSamples, /*bytes=*/100, storage::FakeRoot::Make(root));
    const auto stream = *Stream::Create(stream_spec, production.deps());
    FakeClient free(stream.get(), kFree);
    FakeClient capped(stream.get(), kCapped);
    stream->SetCapped(capped.member(), true);
    production.CapReads(kCapped);
    CHECK_THAT(capped.Start(0, 0), IsOk());
    const std::size_t begun = production.asked().size();
    CHECK(begun > 0);
    CHECK_THAT(free.Start(0, 0), IsOk());
    std::size_t twice = 0;
    for (const auto& [object, times] : production.asked()) {
      if (times > 1) ++twice;
    }
    CHECK(twice == (named ? begun : 0));
    production.LiftCaps();
    production.RunAll();
  }
}

// A cap delays only the batches that no other member wants. Others go on: a
// leader does not give way to a member with a cap.
TEST_CASE_METHOD(StreamCapsTest,
                 "Batches that a cap holds up hold up nobody else",
                 "[stream][stream_caps]") {
  for (const bool reads : {false, true}) {
    CAPTURE(reads);
    Make();
    REQUIRE_THAT(free_->Start(1, 200), IsOk());
    production_.RunAll();
    TakeMemory();
    reads ? production_.CapReads(kCapped) : production_.CapTasks(kCapped);
    REQUIRE_THAT(capped_->Start(1, 0), IsOk());
    CHECK(Consume(*free_) == kSamples - 200);
    CHECK(Consume(*capped_) == 0);
    production_.LiftCaps();
    CHECK(Consume(*capped_) == kSamples);
    others_.Release();
  }
}

// The samples are so large that those waiting for a cap would fill the read
// window, which has space for just one of the largest.
TEST_CASE_METHOD(StreamCapsTest,
                 "Reads that a cap holds up leave room for others' bytes",
                 "[stream][stream_caps]") {
  for (const std::uint64_t mebibytes : {2, 7, 10, 20}) {
    CAPTURE(mebibytes);
    Make(mebibytes << 20);
    const std::uint64_t used = production_.budget().used();
    production_.CapReads(kCapped);
    REQUIRE_THAT(capped_->Start(1, 0), IsOk());
    REQUIRE_THAT(free_->Start(1, 500), IsOk());
    CHECK(Consume(*free_) == kSamples - 500);
    UNSCOPED_INFO("what waits is counted");
    CHECK(production_.budget().used() >= used + (mebibytes << 20));
    production_.LiftCaps();
    CHECK(Consume(*capped_) == kSamples);
  }
}

// The executor may learn of a cap before the stream does.
TEST_CASE_METHOD(StreamCapsTest, "No cap holds up the making of slots",
                 "[stream][stream_caps]") {
  Make();
  REQUIRE_THAT(free_->Start(0, 0), IsOk());
  production_.RunAll();
  while (free_->Take().has_value()) production_.RunAll();  // holds all batches
  production_.CapTasks(kFree);
  REQUIRE_THAT(capped_->Start(1, 0), IsOk());
  stream_->SetCapped(free_->member(), true);
  stream_->SetCapped(capped_->member(), false);
  CHECK(Consume(*capped_) == kSamples);
}

// Until the stream's tasks have run, they keep the stream alive.
TEST_CASE_METHOD(
    StreamCapsTest,
    "Work that a cap holds up takes no read window once its stream is over",
    "[stream][stream_caps]") {
  Make();
  production_.CapTasks(kCapped);
  REQUIRE_THAT(capped_->Start(0, 0), IsOk());
  production_.RunAll();
  const std::weak_ptr<Stream> stream = stream_;
  free_ = nullptr;
  capped_ = nullptr;
  stream_ = nullptr;
  CHECK_FALSE(stream.expired());
  CHECK(production_.budget().used() < std::uint64_t{1} << 20);
  production_.LiftCaps();
  production_.RunAll();
  CHECK(stream.expired());
  CHECK(production_.budget().used() == 0);
}

TEST_CASE_METHOD(StreamCapsTest,
                 "A batch that was begun under a cap is free when the cap goes",
                 "[stream][stream_caps]") {
  Make();
  production_.CapTasks(kCapped);
  REQUIRE_THAT(capped_->Start(0, 0), IsOk());
  CHECK(Consume(*capped_) == 0);
  production_.LiftCaps();
  stream_->SetCapped(capped_->member(), false);
  CHECK(Consume(*capped_) == kSamples);
}

}  // namespace
}  // namespace forebay::stream

// Tests of streams whose samples can be made once only.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "server/stream/stream.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

using tests::IsOk;

constexpr std::uint64_t kSamples = 1000;

// As the daemon sees a live dataset, but for who makes its samples.
class LiveDataset final : public NumberedDataset {
 public:
  using NumberedDataset::NumberedDataset;
  bool is_live() const override { return true; }
};

class StreamLiveTest {
 protected:
  void Make(SharingMode sharing_mode) { stream_ = Create(sharing_mode); }
  std::shared_ptr<Stream> Create(SharingMode sharing_mode) {
    StreamSpec spec = FakeStreamSpec(
        kSamples, /*batch_size=*/1, [](proto::LoaderSpec& loader) {
          loader.mutable_sampler()->set_order(proto::SamplerSpec::SEQUENTIAL);
        });
    spec.dataset = std::make_shared<LiveDataset>(kSamples);
    return *Stream::Create(std::move(spec), production_.deps(), sharing_mode);
  }
  std::unique_ptr<FakeClient> Join() { return Join(*stream_); }
  std::unique_ptr<FakeClient> Join(Stream& stream) {
    return std::make_unique<FakeClient>(&stream, ++flow_);
  }
  // Takes one batch and releases it. Returns its sample's place in the epoch.
  std::optional<std::uint64_t> Consume(FakeClient& client) {
    production_.RunAll();
    const auto entry = client.Take();
    if (!entry.has_value() || entry->kind != proto::ReadyKind::kBatch)
      return std::nullopt;
    const std::uint64_t id = client.Read(*entry).front();
    CHECK_THAT(client.Release(*entry), IsOk());
    return id;
  }
  std::uint64_t Made() {
    return stream_->Snapshot(1).made.samples_decoded +
           stream_->Snapshot(2).made.samples_decoded;
  }

  FakeProduction production_{7};
  std::shared_ptr<Stream> stream_;
  schedule::Flow flow_ = 10;
};

TEST_CASE_METHOD(StreamLiveTest,
                 "Members of a live stream join where the others are",
                 "[stream][stream_live]") {
  Make(SharingMode::kElastic);
  const auto first = Join();
  REQUIRE_THAT(first->Start(3, 0), IsOk());
  for (std::uint64_t id = 0; id < 20; ++id) CHECK(Consume(*first) == id);
  const auto second = Join();
  REQUIRE_THAT(second->Start(0, kSamples), IsOk());
  const auto joined = Consume(*second);
  REQUIRE(joined.has_value());
  CHECK(*joined >= 20u);
  CHECK(*joined <= 40u);
  for (std::uint64_t id = *joined + 1; id < 100; ++id)
    CHECK(Consume(*second) == id);
}

TEST_CASE_METHOD(
    StreamLiveTest,
    "A member of a live stream with a later epoch begins that epoch",
    "[stream][stream_live]") {
  Make(SharingMode::kElastic);
  const auto first = Join();
  const auto second = Join();
  REQUIRE_THAT(first->Start(0, 0), IsOk());
  CHECK(Consume(*first) == 0u);
  REQUIRE_THAT(second->Start(1, 0), IsOk());
  CHECK(Consume(*second) == 0u);
}

TEST_CASE_METHOD(
    StreamLiveTest,
    "A live stream makes nothing twice and members pass over what is gone",
    "[stream][stream_live]") {
  Make(SharingMode::kElastic);
  const auto quick = Join();
  const auto slow = Join();
  // There are no slots but those that members pay for.
  base::MemoryBudget& budget = production_.budget();
  const auto others =
      budget.Reserve(budget.limit() - budget.used(), "other loaders");
  REQUIRE_THAT(others, IsOk());
  REQUIRE_THAT(quick->Start(0, 0), IsOk());
  REQUIRE_THAT(slow->Start(0, 0), IsOk());
  CHECK(Consume(*slow) == 0u);
  for (std::uint64_t id = 0; id < 300; ++id) {
    production_.clock().Advance(1'000'000);
    REQUIRE(Consume(*quick) == id);
  }
  std::uint64_t last = 0, taken = 1;
  while (const auto id = Consume(*slow)) {
    CHECK(*id > last);
    last = *id;
    ++taken;
  }
  CHECK(last == kSamples - 1);
  CHECK(taken < kSamples);
  CHECK(Made() <= kSamples);
}

TEST_CASE_METHOD(
    StreamLiveTest,
    "The only member of a live stream goes on after a stop with what was made",
    "[stream][stream_live]") {
  Make(SharingMode::kElastic);
  const auto client = Join();
  REQUIRE_THAT(client->Start(0, 0), IsOk());
  for (std::uint64_t id = 0; id < 20; ++id) CHECK(Consume(*client) == id);
  client->Stop();
  REQUIRE_THAT(client->Start(0, 20), IsOk());
  // Entries of before are the client's to pass over.
  for (std::uint64_t id = 20; id < 40; ++id) {
    const auto next = Consume(*client);
    REQUIRE(next.has_value());
  }
}

TEST_CASE_METHOD(StreamLiveTest,
                 "A member of a live stream goes on at its own place",
                 "[stream][stream_live]") {
  Make(SharingMode::kElastic);
  const auto behind = Join();
  REQUIRE_THAT(behind->Start(2, 0), IsOk());
  for (std::uint64_t id = 0; id < 5; ++id) CHECK(Consume(*behind) == id);
  const auto ahead = Join();
  REQUIRE_THAT(ahead->Start(2, 60), IsOk());
  for (std::uint64_t id = 60; id < 100; ++id) CHECK(Consume(*ahead) == id);
}

TEST_CASE_METHOD(
    StreamLiveTest,
    "In lockstep a live stream makes batches in order for all members",
    "[stream][stream_live]") {
  Make(SharingMode::kLockstep);
  const auto behind = Join();
  const auto ahead = Join();
  REQUIRE_THAT(behind->Start(0, 3), IsOk());
  REQUIRE_THAT(ahead->Start(0, 60), IsOk());
  CHECK_FALSE(Consume(*ahead).has_value());
  for (std::uint64_t id = 3; id < 100; ++id) CHECK(Consume(*behind) == id);
  for (std::uint64_t id = 60; id < 100; ++id) CHECK(Consume(*ahead) == id);
}

TEST_CASE_METHOD(
    StreamLiveTest,
    "In lockstep a member of a live stream between epochs misses nothing",
    "[stream][stream_live]") {
  Make(SharingMode::kLockstep);
  const auto quick = Join();
  const auto slow = Join();
  REQUIRE_THAT(quick->Start(0, kSamples - 3), IsOk());
  REQUIRE_THAT(slow->Start(0, kSamples - 3), IsOk());
  for (std::uint64_t id = kSamples - 3; id < kSamples; ++id) {
    CHECK(Consume(*quick) == id);
    CHECK(Consume(*slow) == id);
  }
  CHECK(quick->Take()->kind == proto::ReadyKind::kEndOfEpoch);
  REQUIRE_THAT(quick->Start(1, 0), IsOk());
  std::uint64_t quick_next = 0;
  while (const auto id = Consume(*quick)) CHECK(*id == quick_next++);
  CHECK(quick_next < kSamples);
  CHECK(slow->Take()->kind == proto::ReadyKind::kEndOfEpoch);
  REQUIRE_THAT(slow->Start(1, 0), IsOk());
  for (std::uint64_t id = 0; id < 100; ++id) CHECK(Consume(*slow) == id);
}

TEST_CASE_METHOD(
    StreamLiveTest,
    "In lockstep nobody in a live stream waits for a member that has closed",
    "[stream][stream_live]") {
  Make(SharingMode::kLockstep);
  const auto quick = Join();
  const auto slow = Join();
  REQUIRE_THAT(quick->Start(0, kSamples - 1), IsOk());
  REQUIRE_THAT(slow->Start(0, kSamples - 1), IsOk());
  CHECK(Consume(*quick) == kSamples - 1);
  CHECK(Consume(*slow) == kSamples - 1);
  CHECK(quick->Take()->kind == proto::ReadyKind::kEndOfEpoch);
  REQUIRE_THAT(quick->Start(1, 0), IsOk());
  while (Consume(*quick).has_value()) {
  }
  stream_->Close(slow->member());
  stream_->Rest();
  CHECK(Consume(*quick).has_value());
}

TEST_CASE_METHOD(StreamLiveTest,
                 "Live batches wait for members of the stream before",
                 "[stream][stream_live]") {
  for (const SharingMode mode :
       {SharingMode::kElastic, SharingMode::kLockstep}) {
    Make(mode);
    auto late = Join();
    REQUIRE_THAT(late->Start(0, 0), IsOk());
    CHECK(Consume(*late) == 0u);
    const std::shared_ptr<Stream> later = Create(mode);
    later->Follow(*stream_);
    const auto quick = Join(*later);
    REQUIRE_THAT(quick->Start(0, 5), IsOk());
    CHECK_FALSE(Consume(*quick).has_value());
    const auto moved = Join(*later);
    REQUIRE_THAT(moved->Start(0, 5), IsOk());
    late.reset();
    later->Rest();
    for (std::uint64_t id = 5; id < 200; ++id) {
      CHECK(Consume(*quick) == id);
      CHECK(Consume(*moved) == id);
    }
  }
}

TEST_CASE_METHOD(
    StreamLiveTest,
    "Elastic live batches wait a second for members of the stream before",
    "[stream][stream_live]") {
  Make(SharingMode::kElastic);
  const auto late = Join();
  REQUIRE_THAT(late->Start(0, 0), IsOk());
  CHECK(Consume(*late) == 0u);
  const std::shared_ptr<Stream> later = Create(SharingMode::kElastic);
  later->Follow(*stream_);
  const auto quick = Join(*later);
  REQUIRE_THAT(quick->Start(0, 5), IsOk());
  CHECK_FALSE(Consume(*quick).has_value());
  production_.clock().Advance(1'000'000'000);
  later->Rest();
  for (std::uint64_t id = 5; id < 100; ++id) CHECK(Consume(*quick) == id);
}

TEST_CASE_METHOD(
    StreamLiveTest,
    "A live batch that was abandoned is made for the member that comes to it",
    "[stream][stream_live]") {
  Make(SharingMode::kElastic);
  const auto behind = Join();
  const auto ahead = Join();
  REQUIRE_THAT(ahead->Start(0, 50), IsOk());
  CHECK(Consume(*ahead) == 50u);
  ahead->Stop();
  REQUIRE_THAT(behind->Start(0, 51), IsOk());
  for (std::uint64_t id = 51; id < 80; ++id) CHECK(Consume(*behind) == id);
}

TEST_CASE_METHOD(StreamLiveTest,
                 "In lockstep no member of a live stream misses any sample",
                 "[stream][stream_live]") {
  Make(SharingMode::kLockstep);
  const auto quick = Join();
  const auto slow = Join();
  REQUIRE_THAT(quick->Start(0, 0), IsOk());
  REQUIRE_THAT(slow->Start(0, 0), IsOk());
  std::uint64_t quick_next = 0, slow_next = 0;
  while (slow_next < kSamples) {
    while (const auto id = Consume(*quick)) CHECK(*id == quick_next++);
    const auto id = Consume(*slow);
    CAPTURE(slow_next);
    REQUIRE(id.has_value());
    CHECK(*id == slow_next++);
  }
}

}  // namespace
}  // namespace forebay::stream

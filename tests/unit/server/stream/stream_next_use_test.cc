// Tests the times of next use that a stream tells the cache.

#include <vector>

#include "server/sample/sample_identity.h"
#include "server/stream/stream.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

using tests::IsOk;

std::vector<std::int64_t> Ask(const FakeProduction& production,
                              const StreamSpec& stream_spec) {
  std::vector<storage::SampleRef> samples;
  for (std::uint64_t i = 0; i < stream_spec.dataset->size(); ++i) {
    samples.push_back({sample::DatasetNumber(*stream_spec.dataset), i});
  }
  std::vector<std::int64_t> nanos(samples.size());
  production.next_use_registry().Ask(0, samples, absl::MakeSpan(nanos));
  return nanos;
}

TEST_CASE("Samples that a stream asked for are wanted after all else",
          "[stream][stream_next_use]") {
  FakeProduction production(1);
  const StreamSpec stream_spec = FakeStreamSpec(1000, 10);
  const std::vector<std::int64_t> never(1000, cache::kNever);
  {
    const auto stream = *Stream::Create(stream_spec, production.deps());
    FakeClient client(stream.get());
    CHECK(Ask(production, stream_spec) == never);
    REQUIRE_THAT(client.Start(3, 100), IsOk());
    const std::uint64_t asked = 100 + production.reads();
    const std::vector<std::int64_t> nanos = Ask(production, stream_spec);
    CHECK(nanos[stream_spec.sampler.Epoch(3).SampleAt(asked)] == 0);
    const std::int64_t last = nanos[stream_spec.sampler.Epoch(3).SampleAt(999)];
    for (std::uint64_t i = 0; i < asked; ++i) {
      CHECK(nanos[stream_spec.sampler.Epoch(3).SampleAt(i)] > last);
    }
    client.Stop();
    CHECK(Ask(production, stream_spec) == never);
    production.RunAll();
  }
  CHECK(Ask(production, stream_spec) == never);
}

TEST_CASE("After an epoch the next one is expected until the slots are gone",
          "[stream][stream_next_use]") {
  FakeProduction production(2);
  const StreamSpec stream_spec = FakeStreamSpec(100, 10);
  const auto stream = *Stream::Create(stream_spec, production.deps());
  FakeClient client(stream.get());
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  while (true) {
    production.RunAll();
    const auto entry = client.Take();
    REQUIRE(entry.has_value());
    if (entry->kind != proto::ReadyKind::kBatch) break;
    REQUIRE_THAT(client.Release(*entry), IsOk());
  }
  const std::vector<std::int64_t> nanos = Ask(production, stream_spec);
  for (std::uint64_t i = 1; i < 100; ++i) {
    CHECK(nanos[stream_spec.sampler.Epoch(1).SampleAt(i - 1)] <
          nanos[stream_spec.sampler.Epoch(1).SampleAt(i)]);
  }
  REQUIRE(stream->Reclaim(0));
  CHECK(Ask(production, stream_spec) ==
        std::vector<std::int64_t>(100, cache::kNever));
}

TEST_CASE("Reads of a stream say which sample they are of",
          "[stream][stream_next_use]") {
  FakeProduction production(3);
  const StreamSpec stream_spec = FakeStreamSpec(100, 10);
  const auto stream = *Stream::Create(stream_spec, production.deps());
  FakeClient client(stream.get(), /*flow=*/7);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  const storage::ReadRequest& request = production.first_read();
  CHECK(request.sample.dataset == sample::DatasetNumber(*stream_spec.dataset));
  CHECK(request.sample.sample == stream_spec.sampler.Epoch(0).SampleAt(0));
  CHECK(request.purpose.job == 7);
}

}  // namespace
}  // namespace forebay::stream

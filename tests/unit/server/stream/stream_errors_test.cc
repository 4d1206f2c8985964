// Tests how a stream handles samples that cannot be read or decoded.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "proto/job.pb.h"
#include "server/stream/stream.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/stream/epoch_samples.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

using tests::IsOk;

TEST_CASE(
    "A stream ends the epoch with the first error after the batches before it",
    "[stream][stream_errors]") {
  for (std::uint32_t seed = 1; seed <= 25; ++seed) {
    INFO("seed " << seed);
    FakeProduction production(seed);
    const StreamSpec stream_spec = FakeStreamSpec(100, 10);
    const auto stream = *Stream::Create(stream_spec, production.deps());
    FakeClient client(stream.get());
    const std::uint64_t bad = stream_spec.sampler.Epoch(0).SampleAt(34);
    const std::uint64_t worse = stream_spec.sampler.Epoch(0).SampleAt(37);
    production.answers[std::to_string(bad)] = storage::ReadResult();
    production.answers[std::to_string(worse)] =
        absl::UnavailableError("the disk is away");
    REQUIRE_THAT(client.Start(0, 0), IsOk());
    std::vector<std::uint64_t> ids;
    const auto end = Drain(client, production, &ids);
    CHECK(end.kind == proto::ReadyKind::kError);
    CHECK(client.error() == "sample " + std::to_string(bad) +
                                " of /data: " + std::to_string(bad) +
                                ": has only 0 of 100 bytes");
    std::vector<std::uint64_t> before = Expected(stream_spec, 0);
    before.resize(30);
    CHECK(ids == before);
    production.RunAll();
    CHECK(stream->Reclaim(0));
  }
}

TEST_CASE("A stream substitutes corrupt samples alike every time",
          "[stream][stream_errors]") {
  std::vector<std::uint64_t> first_run;
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    INFO("seed " << seed);
    FakeProduction production(seed);
    const StreamSpec stream_spec =
        FakeStreamSpec(100, 10, [](proto::LoaderSpec& spec) {
          spec.mutable_batch()->set_on_error(proto::BatchSpec::SUBSTITUTE);
        });
    for (const int bad : {3, 14, 15, 92}) {
      production.answers[std::to_string(bad)] = storage::ReadResult();
    }
    const auto stream = *Stream::Create(stream_spec, production.deps());
    FakeClient client(stream.get());
    REQUIRE_THAT(client.Start(0, 0), IsOk());
    std::vector<std::uint64_t> ids;
    CHECK(Drain(client, production, &ids).kind ==
          proto::ReadyKind::kEndOfEpoch);
    if (first_run.empty()) first_run = ids;
    CHECK(ids == first_run);
    CHECK(std::count(ids.begin(), ids.end(), 14) == 0);
    CHECK(stream->Snapshot(1).counters.samples_substituted() >= 4);
    const std::vector<std::uint64_t> plain = Expected(stream_spec, 0);
    int differing = 0;
    for (std::size_t i = 0; i < ids.size(); ++i)
      differing += ids[i] != plain[i];
    CHECK(differing == 4);
  }
}

TEST_CASE(
    "A stream never substitutes samples for a passing fault or a changed file",
    "[stream][stream_errors]") {
  for (const absl::Status& fault :
       {absl::UnavailableError("5: away"),
        absl::FailedPreconditionError("5: was replaced"),
        absl::NotFoundError("5: no such file"),
        absl::InvalidArgumentError("5: is a FIFO, not a regular file")}) {
    FakeProduction production(1);
    const StreamSpec stream_spec =
        FakeStreamSpec(10, 10, [](proto::LoaderSpec& spec) {
          spec.mutable_batch()->set_on_error(proto::BatchSpec::SUBSTITUTE);
        });
    production.answers["5"] = fault;
    const auto stream = *Stream::Create(stream_spec, production.deps());
    FakeClient client(stream.get());
    REQUIRE_THAT(client.Start(0, 0), IsOk());
    std::vector<std::uint64_t> ids;
    CHECK(Drain(client, production, &ids).kind == proto::ReadyKind::kError);
    const bool changed =
        absl::IsFailedPrecondition(fault) || absl::IsNotFound(fault);
    CHECK(production.changes() == (changed ? 1 : 0));
  }
}

TEST_CASE("A stream gives up where every sample is corrupt",
          "[stream][stream_errors]") {
  FakeProduction production(1);
  const StreamSpec stream_spec =
      FakeStreamSpec(3, 1, [](proto::LoaderSpec& spec) {
        spec.mutable_batch()->set_on_error(proto::BatchSpec::SUBSTITUTE);
      });
  for (const char* id : {"0", "1", "2"})
    production.answers[id] = storage::ReadResult();
  const auto stream = *Stream::Create(stream_spec, production.deps());
  FakeClient client(stream.get());
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  std::vector<std::uint64_t> ids;
  CHECK(Drain(client, production, &ids).kind == proto::ReadyKind::kError);
}

}  // namespace
}  // namespace forebay::stream

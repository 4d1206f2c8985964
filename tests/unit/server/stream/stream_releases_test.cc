// Tests how a stream learns of releases. While it works for a running member,
// it looks for releases itself. At other times, the client tells it.
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/stream/stream.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

using tests::HasCode;
using tests::IsOk;

// A pipeline that calls `meanwhile` while a thread makes a sample.
class InterruptedPipeline final : public FakePipeline {
 public:
  std::function<void()> meanwhile = [] {};

  absl::Status Run(absl::Span<const std::uint8_t> encoded,
                   const pipeline::SampleKey& key,
                   pipeline::Workspace& workspace,
                   absl::Span<std::uint8_t> out) const override {
    meanwhile();
    return FakePipeline::Run(encoded, key, workspace, out);
  }
};

class StreamReleasesTest {
 protected:
  void Make(std::uint32_t seed) {
    stream_ = nullptr;
    production_ = std::make_unique<FakeProduction>(seed);
    spec_.emplace(FakeStreamSpec(1000, 10));
    pipeline_ = std::make_shared<InterruptedPipeline>();
    spec_->pipeline = pipeline_;
    stream_ = *Stream::Create(*spec_, production_->deps());
  }

  std::unique_ptr<FakeProduction> production_;
  std::optional<StreamSpec> spec_;
  std::shared_ptr<InterruptedPipeline> pipeline_;
  std::shared_ptr<Stream> stream_;
};

TEST_CASE_METHOD(StreamReleasesTest,
                 "A stream finds releases while it is at work",
                 "[stream][stream_releases]") {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    INFO("seed " << seed);
    Make(seed);
    FakeClient client(stream_.get());
    std::uint64_t samples = 0;
    bool over = false;
    // Releases as a client does, which afterwards checks whether it must tell
    // the stream.
    const auto take = [&] {
      const auto entry = client.Take();
      if (!entry.has_value()) return;
      over |= entry->kind != proto::ReadyKind::kBatch;
      if (over) return;
      samples += client.Read(*entry).size();
      client.ReleaseUntold(*entry);
    };
    pipeline_->meanwhile = [&] {
      CHECK(client.looked_at());
      take();
    };
    REQUIRE_THAT(client.Start(0, 0), IsOk());
    int told = 0;
    while (!over) {
      UNSCOPED_INFO("nobody is at work");
      CHECK_FALSE(client.looked_at());
      if (production_->Step()) continue;
      take();
      ++told;
      REQUIRE_THAT(stream_->TakeReleases(client.member()), IsOk());
    }
    CHECK(samples == spec_->dataset->size());
    CHECK(told < 50);
  }
}

TEST_CASE_METHOD(StreamReleasesTest,
                 "A stream finds what was released before its members knew "
                 "that it stops looking",
                 "[stream][stream_releases]") {
  Make(1);
  FakeClient client(stream_.get());
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  production_->RunAll();
  const auto first = client.Take();
  bool released = false;
  pipeline_->meanwhile = [&] {
    if (std::exchange(released, true)) return;
    CHECK(client.looked_at());
    while (const auto entry = client.Take()) client.ReleaseUntold(*entry);
    client.Stop();
  };
  REQUIRE_THAT(client.Release(*first), IsOk());  // another batch begins
  while (!released) REQUIRE(production_->Step());
  CHECK_FALSE(client.looked_at());
  UNSCOPED_INFO("the release was overlooked");
  CHECK(stream_->Snapshot(client.member()).leases == 0);
  production_->RunAll();
  CHECK(stream_->Reclaim(0));
}

TEST_CASE_METHOD(
    StreamReleasesTest,
    "Slots that a closed member holds are not taken from the next member's",
    "[stream][stream_releases]") {
  Make(1);
  FakeClient closed(stream_.get(), 1);
  REQUIRE_THAT(closed.Start(0, 0), IsOk());
  std::vector<proto::ReadyEntry> held;
  production_->RunAll();
  while (const auto entry = closed.Take()) {
    held.push_back(*entry);
    production_->RunAll();
  }
  REQUIRE(held.size() >= 2u);
  stream_->Close(closed.member());
  {
    // The new member gets as many batches as it may hold.
    FakeClient next(stream_.get(), 2);
    REQUIRE_THAT(next.Start(1, 0), IsOk());
    std::size_t taken = 0;
    production_->RunAll();
    while (next.Take().has_value()) {
      ++taken;
      production_->RunAll();
    }
    CHECK(taken == held.size());
  }
  for (const proto::ReadyEntry& entry : held)
    REQUIRE_THAT(closed.Release(entry), IsOk());
  stream_->ReleaseIdleMemory();
  UNSCOPED_INFO("nobody pays any more");
  CHECK(production_->budget().used() == 0u);
}

// In each run, the member closes at another moment of its epoch.
TEST_CASE_METHOD(
    StreamReleasesTest,
    "Once its member has closed a stream holds what is leased alone",
    "[stream][stream_releases]") {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    INFO("seed " << seed);
    Make(seed);
    FakeClient closed(stream_.get(), 1);
    REQUIRE_THAT(closed.Start(0, 0), IsOk());
    for (std::uint32_t step = 0; step < 20 + 5 * seed; ++step)
      production_->Step();
    const auto held = closed.Take();
    if (!held.has_value()) continue;
    closed.LeaveUntaken();
    stream_->Close(closed.member());
    production_->RunAll();
    REQUIRE_THAT(stream_->TakeReleases(closed.member()), IsOk());
    stream_->ReleaseIdleMemory();
    CHECK(production_->budget().used() ==
          (held->slot + 1) * stream_->slot_size().host);
    // A member that joins now gets all its samples, but never the slot that is
    // held.
    FakeClient other(stream_.get(), 2);
    REQUIRE_THAT(other.Start(1, 900), IsOk());
    std::uint64_t samples = 0;
    for (;;) {
      production_->RunAll();
      const auto entry = other.Take();
      REQUIRE(entry.has_value());
      if (entry->kind != proto::ReadyKind::kBatch) break;
      CHECK(entry->slot != held->slot);
      samples += other.Read(*entry).size();
      CHECK_THAT(other.Release(*entry), IsOk());
    }
    CHECK(samples == 100);
    CHECK(closed.Read(*held).size() == 10);
  }
}

// The other member keeps the stream working. The stream still does not look for
// releases of the stopped member, so that member's client must tell.
TEST_CASE_METHOD(StreamReleasesTest,
                 "A stopped member must tell of its releases though others run",
                 "[stream][stream_releases]") {
  Make(1);
  FakeClient stays(stream_.get(), 1);
  FakeClient goes(stream_.get(), 2);
  REQUIRE_THAT(stays.Start(0, 0), IsOk());
  REQUIRE_THAT(goes.Start(0, 0), IsOk());
  bool stopped = false;
  pipeline_->meanwhile = [&] {
    if (stopped) return;
    CHECK(stays.looked_at());
    CHECK(goes.looked_at());
    goes.Stop();
    stopped = true;
    CHECK(stays.looked_at());
    CHECK_FALSE(goes.looked_at());
  };
  while (!stopped) REQUIRE(production_->Step());
}

TEST_CASE_METHOD(StreamReleasesTest,
                 "A stream must be told of releases while its reads hang",
                 "[stream][stream_releases]") {
  Make(1);
  FakeClient client(stream_.get());
  const std::uint64_t hangs = spec_->sampler.Epoch(0).SampleAt(19);
  production_->hangs.insert(std::to_string(hangs));
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  production_->RunAll();
  CHECK_FALSE(client.looked_at());
}

TEST_CASE_METHOD(
    StreamReleasesTest,
    "A stream tells of garbage among releases that it finds between two tasks",
    "[stream][stream_releases]") {
  Make(1);
  FakeClient client(stream_.get());
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  client.release_ring().Push({.slot = 999, .generation = 1});
  std::uint64_t raised = 0;
  while (read(client.channel().event_fd(), &raised, sizeof(raised)) < 0) {
    UNSCOPED_INFO("nobody was told");
    REQUIRE(production_->Step());
  }
  CHECK_THAT(stream_->TakeReleases(client.member()),
             HasCode(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace forebay::stream

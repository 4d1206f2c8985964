// Tests which epochs a stream accepts, and where one epoch ends and the next
// begins.

#include <cstdint>

#include "server/stream/stream.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr std::uint32_t kSlots = 2 + kLeaseQuota;

TEST_CASE("A stream refuses epochs that have no end",
          "[stream][stream_epochs]") {
  FakeProduction production(1);
  const auto stream =
      *Stream::Create(FakeStreamSpec(100, 10), production.deps());
  FakeClient client(stream.get());
  constexpr std::uint64_t kFirst = std::uint64_t{1} << 63;
  for (const std::uint64_t epoch : {kFirst, kFirst + 1, UINT64_MAX}) {
    CAPTURE(epoch);
    CHECK_THAT(client.Start(epoch, 0),
               HasCode(absl::StatusCode::kInvalidArgument));
  }
  REQUIRE_THAT(client.Start(kFirst - 1, 0), IsOk());
  std::uint64_t samples = 0;
  for (;;) {
    production.RunAll();
    const auto entry = client.Take();
    UNSCOPED_INFO("the stream has dried up");
    REQUIRE(entry.has_value());
    if (entry->kind == proto::ReadyKind::kEndOfEpoch) break;
    samples += client.Read(*entry).size();
    REQUIRE_THAT(client.Release(*entry), IsOk());
  }
  CHECK(samples == 100);
}

TEST_CASE("A batch that is taken late is of the epoch before",
          "[stream][stream_epochs]") {
  FakeProduction production(1);
  const auto stream =
      *Stream::Create(FakeStreamSpec(1000, 10), production.deps());
  FakeClient client(stream.get());
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  production.RunAll();
  client.Stop();
  REQUIRE_THAT(client.Start(1, 500), IsOk());
  for (std::uint32_t i = 0; i < kSlots; ++i) REQUIRE(client.Take()->epoch == 0);
  const StreamSnapshot snapshot = stream->Snapshot(client.member());
  CHECK(snapshot.position == 500);
  CHECK(snapshot.counters.samples_delivered() == kSlots * 10);
}

}  // namespace
}  // namespace forebay::stream

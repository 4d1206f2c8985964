// Tests of a stream with GPUs that fail, or that have no memory left.

#include <cstdint>
#include <vector>

#include "server/stream/stream.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/device/fake_device.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/stream_device_fixture.h"

namespace forebay::stream {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

TEST_CASE_METHOD(StreamDeviceTest,
                 "A failed copy ends the epochs on its GPU alone",
                 "[stream][stream_device_failures]") {
  Make(3);
  FakeClient on_a(stream_.get(), 1, 0, a_.device);
  FakeClient on_b(stream_.get(), 2, 0, b_.device);
  REQUIRE_THAT(on_a.Start(0, 0), IsOk());
  REQUIRE_THAT(on_b.Start(0, 0), IsOk());
  production_->RunAll();
  a_.copier->failure = absl::InternalError("the bus");
  a_.copier->RunAll();
  a_.copier->failure = absl::OkStatus();
  RunAll();
  const auto entry = on_a.Take();
  REQUIRE(entry.has_value());
  CHECK(entry->kind == proto::ReadyKind::kError);
  CHECK(on_a.error() == "GPU 0: the bus");
  std::vector<std::uint64_t> ids;
  CHECK(Drain(on_b, &ids).kind == proto::ReadyKind::kEndOfEpoch);
  CHECK(ids == Expected(0));
  // The next epoch tries the GPU again.
  ids.clear();
  REQUIRE_THAT(on_a.Start(0, 0), IsOk());
  CHECK(Drain(on_a, &ids).kind == proto::ReadyKind::kEndOfEpoch);
  CHECK(ids == Expected(0));
}

TEST_CASE_METHOD(StreamDeviceTest, "A stream says at once that a GPU is lost",
                 "[stream][stream_device_failures]") {
  Make(3);
  FakeClient client(stream_.get(), 1, 0, a_.device);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  a_.copier->refusal = absl::DataLossError("an uncorrectable error");
  RunAll();
  const auto entry = client.Take();
  REQUIRE(entry.has_value());
  CHECK(entry->kind == proto::ReadyKind::kError);
  CHECK(client.error() == "GPU 0: an uncorrectable error");
}

// Copies on the lost GPU may still read their staging memory, so new memory is
// made instead.
TEST_CASE_METHOD(StreamDeviceTest, "A lost GPU harms no member on another",
                 "[stream][stream_device_failures]") {
  Make(7);
  FakeClient on_a(stream_.get(), 1, 0, a_.device);
  FakeClient on_b(stream_.get(), 2, 0, b_.device);
  REQUIRE_THAT(on_a.Start(0, 0), IsOk());
  REQUIRE_THAT(on_b.Start(0, 0), IsOk());
  production_->RunAll();
  a_.copier->failure = absl::DataLossError("an uncorrectable error");
  a_.copier->RunAll();
  a_.copier->refusal = a_.copier->failure;
  std::vector<std::uint64_t> ids;
  CHECK(Drain(on_b, &ids).kind == proto::ReadyKind::kEndOfEpoch);
  CHECK(ids == Expected(0));
  const auto entry = on_a.Take();
  REQUIRE(entry.has_value());
  CHECK(entry->kind == proto::ReadyKind::kError);
  CHECK_THAT(on_a.Start(0, 0), HasCode(absl::StatusCode::kInternal));
}

TEST_CASE_METHOD(StreamDeviceTest,
                 "A stream on GPUs says which memory is spent",
                 "[stream][stream_device_failures]") {
  Make(1);
  const device::FakeDevice small(2, 3 * cuda::FakeGpu::kGranularity);
  const auto channel = *slots::Channel::Create();
  const auto joined = stream_->Join(channel.get(), 1, 0, small.device);
  CHECK_THAT(joined, HasCode(absl::StatusCode::kResourceExhausted));
  CAPTURE(joined.status());
  CHECK_THAT(joined.status().message(), Contains("GPU 2"));
  CHECK(small.device->budget().used() == 0);
  const FakeClient fits(stream_.get(), 1, 0, a_.device);
}

}  // namespace
}  // namespace forebay::stream

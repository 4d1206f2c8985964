// Tests of a stream in coordinated order, which draws samples when it needs
// them.
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "proto/job.pb.h"
#include "server/stream/coordinator.h"
#include "server/stream/stream.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/sealed_numbers.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

using tests::HasCode;

constexpr std::uint64_t kSamples = 100;

TEST_CASE("An epoch that cannot start leaves the coordinated order as it was",
          "[stream][stream_coordinated]") {
  base::MemoryBudget budget(1 << 20);
  FakeProduction production(1);
  StreamSpec stream_spec =
      FakeStreamSpec(kSamples, 10, [](proto::LoaderSpec& spec) {
        spec.mutable_sampler()->set_order(proto::SamplerSpec::COORDINATED);
      });
  stream_spec.order_member =
      std::make_shared<Coordinator>(kSamples, /*room=*/0, /*seed=*/7, &budget)
          ->Join({});
  stream_spec.sampler = stream_spec.sampler.With(stream_spec.order_member);
  const auto stream = *Stream::Create(stream_spec, production.deps());
  FakeClient client(stream.get());
  const auto seen = [&] {
    std::vector<bool> seen;
    for (std::uint64_t sample = 0; sample < kSamples; ++sample)
      seen.push_back(!stream_spec.order_member->PositionOf(sample).has_value());
    return seen;
  };
  // Each epoch starts with a list that says that all samples were seen. The
  // client takes no entry, not even the end of an epoch, until the stream
  // refuses another epoch.
  std::vector<std::uint64_t> all(kSamples);
  std::iota(all.begin(), all.end(), 0);
  const auto list = base::MakeList(all, kSamples, &budget);
  absl::Status status;
  for (std::uint64_t epoch = 0; epoch < 200 && status.ok(); ++epoch)
    status = client.Start(
        {.epoch = epoch, .first_sample = kSamples, .seen_samples = list});
  CHECK_THAT(status, HasCode(absl::StatusCode::kFailedPrecondition));
  CHECK(seen() == std::vector<bool>(kSamples, true));
  CHECK_THAT(client.Start(200, 0),
             HasCode(absl::StatusCode::kFailedPrecondition));
  CHECK(seen() == std::vector<bool>(kSamples, true));
}

}  // namespace
}  // namespace forebay::stream

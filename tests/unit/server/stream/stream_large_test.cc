// Tests of images that are too large for a thread's own workspace.

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proto/job.pb.h"
#include "proto/raw_image.h"
#include "server/stream/stream.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

using tests::Contains;
using tests::IsOk;

using pipeline::SampleKey;
using pipeline::Workspace;

constexpr std::uint64_t kOwnBytes = 4 << 10;
constexpr std::uint64_t kSharedBytes = 1 << 20;
constexpr std::uint32_t kWidth = 1000;
constexpr schedule::Flow kFree = 10;
constexpr schedule::Flow kCapped = 11;

// A pipeline in which every third sample is an image that needs more than
// kOwnBytes.
class LargePipeline final : public pipeline::Pipeline {
 public:
  LargePipeline() {
    proto::PipelineSpec spec;
    spec.add_ops()->mutable_center_crop()->set_height(1);
    spec.mutable_ops(0)->mutable_center_crop()->set_width(1);
    real_ = *Pipeline::Create(spec);
    const proto::RawImageHeader header = {.magic = proto::kRawImageMagic,
                                          .width = kWidth,
                                          .height = 1,
                                          .channels = 1};
    large_.resize(sizeof(header) + kWidth);
    std::memcpy(large_.data(), &header, sizeof(header));
  }

  const pipeline::TensorType& output() const override { return fake_.output(); }
  const pipeline::Tail* tail() const override { return nullptr; }
  absl::Status Run(absl::Span<const std::uint8_t> encoded, const SampleKey& key,
                   Workspace& workspace,
                   absl::Span<std::uint8_t> out) const override {
    std::vector<std::uint8_t> pixel(real_->output().bytes);
    if (key.sample % 3 == 0) {
      absl::Status status =
          real_->Run(large_, key, workspace, absl::MakeSpan(pixel));
      if (!status.ok()) return status;
    }
    return fake_.Run(encoded, key, workspace, out);
  }
  std::uint64_t variant() const override { return 1; }
  absl::Status RunFromVariant(absl::Span<const std::uint8_t> variant,
                              const SampleKey& key, Workspace& workspace,
                              absl::Span<std::uint8_t> out) const override {
    return Run(variant, key, workspace, out);
  }
  absl::Status RunAndKeep(absl::Span<const std::uint8_t> encoded,
                          const SampleKey& key, Workspace& workspace,
                          absl::Span<std::uint8_t> out,
                          pipeline::VariantTarget& /*target*/) const override {
    return Run(encoded, key, workspace, out);
  }

 private:
  const FakePipeline fake_;
  std::unique_ptr<Pipeline> real_;
  std::vector<std::uint8_t> large_;
};

class StreamLargeTest {
 protected:
  explicit StreamLargeTest() {
    own_.push_back(std::make_unique<Workspace>(pipeline::WorkspaceLimits{
        .scratch_bytes = kOwnBytes, .larger_scratch_bytes = kSharedBytes}));
  }

  std::shared_ptr<Stream> Open(FakeProduction& production,
                               StreamSpec stream_spec) {
    StreamDeps deps = production.deps();
    deps.workspaces = &own_;
    deps.shared_workspace = &shared_;
    return *Stream::Create(std::move(stream_spec), std::move(deps));
  }

  static StreamSpec LargeStreamSpec() {
    StreamSpec stream_spec = FakeStreamSpec(60, 10);
    stream_spec.pipeline = std::make_shared<LargePipeline>();
    return stream_spec;
  }

  // Takes the rest of the epoch, and returns the ids of its samples.
  static std::vector<std::uint64_t> Drain(FakeClient& client,
                                          FakeProduction& production) {
    std::vector<std::uint64_t> ids;
    for (;;) {
      production.RunAll();
      const auto entry = client.Take();
      if (!entry.has_value()) {
        FAIL_CHECK("the stream has dried up");
        return ids;
      }
      if (entry->kind != proto::ReadyKind::kBatch) {
        CAPTURE(client.error());
        CHECK(entry->kind == proto::ReadyKind::kEndOfEpoch);
        return ids;
      }
      const auto batch = client.Read(*entry);
      ids.insert(ids.end(), batch.begin(), batch.end());
      CHECK_THAT(client.Release(*entry), IsOk());
    }
  }

  // Takes a batch, if there is one.
  static void TakeBatch(FakeClient& client, std::vector<std::uint64_t>* ids) {
    const auto entry = client.Take();
    if (!entry.has_value() || entry->kind != proto::ReadyKind::kBatch) return;
    const auto batch = client.Read(*entry);
    ids->insert(ids->end(), batch.begin(), batch.end());
    CHECK_THAT(client.Release(*entry), IsOk());
  }

  static std::vector<std::uint64_t> Expected(const StreamSpec& stream_spec,
                                             std::uint64_t epoch) {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t i = 0; i < stream_spec.sampler.samples_per_epoch(); ++i)
      ids.push_back(stream_spec.sampler.Epoch(epoch).SampleAt(i));
    return ids;
  }

  std::vector<std::unique_ptr<Workspace>> own_;
  pipeline::SharedWorkspace shared_{{.scratch_bytes = kSharedBytes}};
};

TEST_CASE_METHOD(StreamLargeTest,
                 "Large images are made in the shared workspace",
                 "[stream][stream_large]") {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    FakeProduction production(seed);
    const StreamSpec stream_spec = LargeStreamSpec();
    const auto stream = Open(production, stream_spec);
    FakeClient client(stream.get());
    for (const std::uint64_t epoch : {0, 1}) {
      REQUIRE_THAT(client.Start(epoch, 0), IsOk());
      CHECK(Drain(client, production) == Expected(stream_spec, epoch));
    }
    CHECK(stream->Snapshot(client.member()).counters.samples_decoded() == 120);
    CHECK(stream->Snapshot(client.member()).samples_to_decode == 0);
  }
}

TEST_CASE_METHOD(StreamLargeTest,
                 "Large images wait for one another and for nobody else",
                 "[stream][stream_large]") {
  FakeProduction production(1);
  const StreamSpec stream_spec = LargeStreamSpec();
  const auto stream = Open(production, stream_spec);
  const auto other = Open(production, stream_spec);
  const auto plain = Open(production, FakeStreamSpec(60, 10));
  FakeClient client(stream.get());
  FakeClient other_client(other.get());
  FakeClient plain_client(plain.get());
  auto loan = shared_.Borrow([] {});
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  REQUIRE_THAT(other_client.Start(0, 0), IsOk());
  REQUIRE_THAT(plain_client.Start(0, 0), IsOk());
  // No task stays behind while the workspace is lent.
  CHECK(Drain(plain_client, production) == Expected(stream_spec, 0));
  CHECK(production.tasks() == 0);
  CHECK_FALSE(client.Take().has_value());
  loan.reset();
  CHECK(Drain(client, production) == Expected(stream_spec, 0));
  CHECK(Drain(other_client, production) == Expected(stream_spec, 0));
}

TEST_CASE_METHOD(StreamLargeTest,
                 "Large images wait no longer than somebody wants them",
                 "[stream][stream_large]") {
  FakeProduction production(1);
  const StreamSpec stream_spec = LargeStreamSpec();
  const auto stream = Open(production, stream_spec);
  FakeClient client(stream.get());
  auto loan = shared_.Borrow([] {});
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  production.RunAll();
  CHECK(stream->Snapshot(client.member()).samples_to_decode > 0);
  client.Stop();
  loan.reset();
  production.RunAll();
  CHECK(stream->Snapshot(client.member()).samples_to_decode == 0);
  CHECK(stream->Snapshot(client.member()).counters.samples_decoded() < 60);
  REQUIRE_THAT(client.Start(1, 0), IsOk());
  CHECK(Drain(client, production) == Expected(stream_spec, 1));
}

// The images wait first for the shared workspace, and then for a cap. Once a
// member without a cap joins, both members get them.
TEST_CASE_METHOD(StreamLargeTest,
                 "No cap holds up a large image that another member wants too",
                 "[stream][stream_large]") {
  FakeProduction production(1);
  const StreamSpec stream_spec = LargeStreamSpec();
  const auto stream = Open(production, stream_spec);
  FakeClient capped(stream.get(), kCapped);
  stream->SetCapped(capped.member(), true);
  auto loan = shared_.Borrow([] {});
  REQUIRE_THAT(capped.Start(0, 0), IsOk());
  production.RunAll();
  production.CapTasks(kCapped);
  loan.reset();
  production.RunAll();
  CHECK_FALSE(capped.Take().has_value());
  FakeClient client(stream.get(), kFree);
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  std::vector<std::uint64_t> ids;
  std::vector<std::uint64_t> of_capped;
  for (int i = 0; i < 1000 && ids.size() < 60; ++i) {
    production.RunAll();
    TakeBatch(client, &ids);
    TakeBatch(capped, &of_capped);
  }
  CHECK(ids == Expected(stream_spec, 0));
}

TEST_CASE_METHOD(StreamLargeTest,
                 "A cap holds up large images that its member alone wants",
                 "[stream][stream_large]") {
  FakeProduction production(1);
  const StreamSpec stream_spec = LargeStreamSpec();
  const auto stream = Open(production, stream_spec);
  FakeClient client(stream.get(), kFree);
  FakeClient capped(stream.get(), kCapped);
  stream->SetCapped(capped.member(), true);
  auto loan = shared_.Borrow([] {});
  REQUIRE_THAT(client.Start(1, 0), IsOk());
  REQUIRE_THAT(capped.Start(0, 0), IsOk());
  production.RunAll();
  production.CapTasks(kCapped);
  loan.reset();
  CHECK(Drain(client, production) == Expected(stream_spec, 1));
  CHECK_FALSE(capped.Take().has_value());
  production.LiftCaps();
  CHECK(Drain(capped, production) == Expected(stream_spec, 0));
}

TEST_CASE_METHOD(StreamLargeTest, "Large images that wait go with their stream",
                 "[stream][stream_large]") {
  FakeProduction production(1);
  auto loan = shared_.Borrow([] {});
  {
    const auto stream = Open(production, LargeStreamSpec());
    FakeClient client(stream.get());
    REQUIRE_THAT(client.Start(0, 0), IsOk());
    production.RunAll();
  }
  CHECK(production.budget().used() == 0);
  loan.reset();
  CHECK(production.tasks() == 0);
}

TEST_CASE_METHOD(
    StreamLargeTest,
    "Large images fail the epoch if even the shared workspace is too small",
    "[stream][stream_large]") {
  FakeProduction production(1);
  pipeline::SharedWorkspace small{{.scratch_bytes = kOwnBytes + 1}};
  StreamDeps deps = production.deps();
  deps.workspaces = &own_;
  deps.shared_workspace = &small;
  const auto stream = *Stream::Create(LargeStreamSpec(), std::move(deps));
  FakeClient client(stream.get());
  REQUIRE_THAT(client.Start(0, 0), IsOk());
  std::optional<proto::ReadyEntry> entry;
  do {
    production.RunAll();
    entry = client.Take();
    REQUIRE(entry.has_value());
  } while (entry->kind == proto::ReadyKind::kBatch);
  CHECK(entry->kind == proto::ReadyKind::kError);
  CHECK_THAT(client.error(), Contains("image.scratch_limit"));
}

}  // namespace
}  // namespace forebay::stream

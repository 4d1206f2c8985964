#ifndef FOREBAY_TESTS_UNIT_SERVER_STREAM_STREAM_LIVE_FIXTURE_H_
#define FOREBAY_TESTS_UNIT_SERVER_STREAM_STREAM_LIVE_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "server/stream/stream.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {

// The number of samples in the dataset.
constexpr std::uint64_t kLiveSamples = 1000;

// A live dataset from the daemon's side. Here the daemon can make its samples
// itself.
class LiveDataset final : public NumberedDataset {
 public:
  using NumberedDataset::NumberedDataset;
  bool is_live() const override { return true; }
};

// A live stream, and its members.
class StreamLiveTest {
 protected:
  void Make(SharingMode sharing_mode) { stream_ = Create(sharing_mode); }
  std::shared_ptr<Stream> Create(SharingMode sharing_mode) {
    StreamSpec spec = FakeStreamSpec(
        kLiveSamples, /*batch_size=*/1, [](proto::LoaderSpec& loader) {
          loader.mutable_sampler()->set_order(proto::SamplerSpec::SEQUENTIAL);
        });
    spec.dataset = std::make_shared<LiveDataset>(kLiveSamples);
    return *Stream::Create(std::move(spec), production_.deps(), sharing_mode);
  }
  std::unique_ptr<FakeClient> Join() { return Join(*stream_); }
  std::unique_ptr<FakeClient> Join(Stream& stream) {
    return std::make_unique<FakeClient>(&stream, ++flow_);
  }
  // Takes and releases one batch. Returns the position of its sample in the
  // epoch.
  std::optional<std::uint64_t> Consume(FakeClient& client) {
    production_.RunAll();
    const auto entry = client.Take();
    if (!entry.has_value() || entry->kind != proto::ReadyKind::kBatch)
      return std::nullopt;
    const std::uint64_t id = client.Read(*entry).front();
    CHECK_THAT(client.Release(*entry), tests::IsOk());
    return id;
  }
  // Stops the member's epoch. The client skips what was published.
  static void Leave(FakeClient& client) {
    client.Stop();
    while (const auto entry = client.Take())
      CHECK_THAT(client.Release(*entry), tests::IsOk());
  }
  std::uint64_t Made() {
    return stream_->Snapshot(1).counters.samples_decoded() +
           stream_->Snapshot(2).counters.samples_decoded();
  }

  FakeProduction production_{7};
  std::shared_ptr<Stream> stream_;
  schedule::Flow flow_ = 10;
};

}  // namespace forebay::stream

#endif  // FOREBAY_TESTS_UNIT_SERVER_STREAM_STREAM_LIVE_FIXTURE_H_

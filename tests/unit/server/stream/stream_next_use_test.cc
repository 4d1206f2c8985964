// Tests of the next uses that a stream tells the cache.

#include <gtest/gtest.h>

#include <vector>

#include "server/sample/sample_identity.h"
#include "server/stream/stream.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

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

TEST(StreamNextUseTest, WhatWasAskedForIsWantedAfterAllElse) {
  FakeProduction production(1);
  const StreamSpec stream_spec = FakeStreamSpec(1000, 10);
  const std::vector<std::int64_t> never(1000, cache::kNever);
  {
    const auto stream = *Stream::Create(stream_spec, production.deps());
    FakeClient client(stream.get());
    EXPECT_EQ(Ask(production, stream_spec), never);
    ASSERT_TRUE(client.Start(3, 100).ok());
    const std::uint64_t asked = 100 + production.reads();
    const std::vector<std::int64_t> nanos = Ask(production, stream_spec);
    EXPECT_EQ(nanos[stream_spec.sampler.Epoch(3).SampleAt(asked)], 0);
    const std::int64_t last = nanos[stream_spec.sampler.Epoch(3).SampleAt(999)];
    for (std::uint64_t i = 0; i < asked; ++i) {
      EXPECT_GT(nanos[stream_spec.sampler.Epoch(3).SampleAt(i)], last);
    }
    client.Stop();
    EXPECT_EQ(Ask(production, stream_spec), never);
    production.RunAll();
  }
  EXPECT_EQ(Ask(production, stream_spec), never);
}

TEST(StreamNextUseTest, AfterAnEpochTheNextIsExpectedUntilTheSlotsAreGone) {
  FakeProduction production(2);
  const StreamSpec stream_spec = FakeStreamSpec(100, 10);
  const auto stream = *Stream::Create(stream_spec, production.deps());
  FakeClient client(stream.get());
  ASSERT_TRUE(client.Start(0, 0).ok());
  while (true) {
    production.RunAll();
    const auto entry = client.Take();
    ASSERT_TRUE(entry.has_value());
    if (entry->kind != proto::ReadyKind::kBatch) break;
    ASSERT_TRUE(client.Release(*entry).ok());
  }
  const std::vector<std::int64_t> nanos = Ask(production, stream_spec);
  for (std::uint64_t i = 1; i < 100; ++i) {
    EXPECT_LT(nanos[stream_spec.sampler.Epoch(1).SampleAt(i - 1)],
              nanos[stream_spec.sampler.Epoch(1).SampleAt(i)]);
  }
  ASSERT_TRUE(stream->Reclaim(0));
  EXPECT_EQ(Ask(production, stream_spec),
            std::vector<std::int64_t>(100, cache::kNever));
}

TEST(StreamNextUseTest, ReadsSayWhichSampleTheyAreOf) {
  FakeProduction production(3);
  const StreamSpec stream_spec = FakeStreamSpec(100, 10);
  const auto stream = *Stream::Create(stream_spec, production.deps());
  FakeClient client(stream.get(), /*flow=*/7);
  ASSERT_TRUE(client.Start(0, 0).ok());
  const storage::ReadRequest& request = production.first_read();
  EXPECT_EQ(request.sample.dataset,
            sample::DatasetNumber(*stream_spec.dataset));
  EXPECT_EQ(request.sample.sample, stream_spec.sampler.Epoch(0).SampleAt(0));
  EXPECT_EQ(request.purpose.job, 7);
}

}  // namespace
}  // namespace forebay::stream

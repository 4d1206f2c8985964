// What a stream tells the cache of its future.

#include <gtest/gtest.h>

#include <vector>

#include "server/stream/stream.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

std::vector<std::int64_t> Ask(const FakeProduction& production,
                              const Recipe& recipe) {
  std::vector<storage::SampleRef> samples;
  for (std::uint64_t i = 0; i < recipe.dataset->size(); ++i) {
    samples.push_back({DatasetNumber(*recipe.dataset), i});
  }
  std::vector<std::int64_t> nanos(samples.size());
  production.timetable().Ask(0, samples, absl::MakeSpan(nanos));
  return nanos;
}

TEST(StreamForecastTest, WhatWasAskedForIsWantedAfterAllElse) {
  FakeProduction production(1);
  const Recipe recipe = FakeRecipe(1000, 10);
  const std::vector<std::int64_t> never(1000, cache::kNever);
  {
    const auto stream = *Stream::Create(recipe, production.machinery(), 1);
    FakeClient client(stream.get());
    EXPECT_EQ(Ask(production, recipe), never);
    ASSERT_TRUE(client.Start(3, 100).ok());
    const std::uint64_t asked = 100 + production.reads();
    const std::vector<std::int64_t> nanos = Ask(production, recipe);
    EXPECT_EQ(nanos[recipe.sampler.SampleAt(3, asked)], 0);
    const std::int64_t last = nanos[recipe.sampler.SampleAt(3, 999)];
    for (std::uint64_t i = 0; i < asked; ++i) {
      EXPECT_GT(nanos[recipe.sampler.SampleAt(3, i)], last);
    }
    stream->Stop();
    EXPECT_EQ(Ask(production, recipe), never);
    production.RunAll();
  }
  EXPECT_EQ(Ask(production, recipe), never);
}

TEST(StreamForecastTest, AfterAnEpochTheNextIsExpectedUntilTheSlotsAreGone) {
  FakeProduction production(2);
  const Recipe recipe = FakeRecipe(100, 10);
  const auto stream = *Stream::Create(recipe, production.machinery(), 1);
  FakeClient client(stream.get());
  ASSERT_TRUE(client.Start(0, 0).ok());
  while (true) {
    production.RunAll();
    const auto entry = client.Take();
    ASSERT_TRUE(entry.has_value());
    if (entry->kind != proto::ReadyKind::kBatch) break;
    ASSERT_TRUE(client.Release(*entry).ok());
  }
  const std::vector<std::int64_t> nanos = Ask(production, recipe);
  for (std::uint64_t i = 1; i < 100; ++i) {
    EXPECT_LT(nanos[recipe.sampler.SampleAt(1, i - 1)],
              nanos[recipe.sampler.SampleAt(1, i)]);
  }
  ASSERT_TRUE(stream->Reclaim());
  EXPECT_EQ(Ask(production, recipe),
            std::vector<std::int64_t>(100, cache::kNever));
}

TEST(StreamForecastTest, ReadsSayWhichSampleTheyAreOf) {
  FakeProduction production(3);
  const Recipe recipe = FakeRecipe(100, 10);
  Requester requester(&recipe, storage::kEncoded, 1);
  ProductionLine line(recipe.sampler, recipe.batch, 0, 100);
  auto pool = *arena::SlotPool::Create(1, 4096);
  line.Start(0, 0);
  line.Begin(pool, 1);
  Place* const place = line.Next();
  const auto request = requester.RequestFor(place, line, Pace());
  EXPECT_EQ(request.sample.dataset, DatasetNumber(*recipe.dataset));
  EXPECT_EQ(request.sample.sample, recipe.sampler.SampleAt(0, 0));
  line.Finish(*place, absl::OkStatus(), pool);
  line.Abandon(pool);
}

}  // namespace
}  // namespace forebay::stream

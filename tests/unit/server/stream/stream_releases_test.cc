// How a stream learns of releases while it works: by looking, until it says
// that it does not.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "server/stream/stream.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

TEST(StreamReleasesTest, FindsReleasesAsLongAsThereIsWork) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    FakeProduction production(seed);
    const Recipe recipe = FakeRecipe(1000, 10);
    const auto stream = *Stream::Create(recipe, production.machinery());
    FakeClient client(stream.get());
    EXPECT_FALSE(client.looked_at());
    ASSERT_TRUE(client.Start(0, 0).ok());
    std::vector<std::uint64_t> ids;
    std::uint64_t told = 0;
    while (true) {
      const auto entry = client.Take();
      if (!entry.has_value()) {
        ASSERT_TRUE(production.Step()) << "the stream has dried up";
        continue;
      }
      if (entry->kind != proto::ReadyKind::kBatch) break;
      const auto batch = client.Read(*entry);
      ids.insert(ids.end(), batch.begin(), batch.end());
      // As a client does it: first the release, then the look.
      client.ReleaseUntold(*entry);
      if (client.looked_at()) continue;
      ++told;
      ASSERT_TRUE(stream->TakeReleases(client.member()).ok());
    }
    EXPECT_EQ(ids.size(), recipe.dataset->size());
    EXPECT_LT(told, 100);
    EXPECT_FALSE(client.looked_at());
  }
}

TEST(StreamReleasesTest, OnceStoppedMustBeToldOfReleases) {
  FakeProduction production(1);
  const auto stream =
      *Stream::Create(FakeRecipe(1000, 100), production.machinery());
  FakeClient client(stream.get());
  ASSERT_TRUE(client.Start(0, 0).ok());
  std::optional<proto::ReadyEntry> entry;
  while (!(entry = client.Take()).has_value()) {
    ASSERT_TRUE(production.Step());
  }
  ASSERT_TRUE(client.looked_at());
  client.ReleaseUntold(*entry);
  client.Stop();
  EXPECT_FALSE(client.looked_at());
  EXPECT_FALSE(stream->Holds(client.member())) << "the release was overlooked";
  production.RunAll();
  EXPECT_TRUE(stream->Reclaim(0));
}

TEST(StreamReleasesTest, GarbageThatIsFoundBetweenTwoTasksIsToldOf) {
  FakeProduction production(1);
  const auto stream =
      *Stream::Create(FakeRecipe(1000, 100), production.machinery());
  FakeClient client(stream.get());
  ASSERT_TRUE(client.Start(0, 0).ok());
  ASSERT_TRUE(client.looked_at());
  client.release_ring().Push({.slot = 999, .generation = 1});
  std::uint64_t raised = 0;
  while (read(client.channel().event_fd(), &raised, sizeof(raised)) < 0) {
    ASSERT_TRUE(production.Step()) << "nobody was told";
  }
  EXPECT_TRUE(absl::IsInvalidArgument(stream->TakeReleases(client.member())));
}

}  // namespace
}  // namespace forebay::stream

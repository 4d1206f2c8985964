#include "server/stream/member.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(MemberTest, StarvesInANewEpochThoughSomethingOfTheLastIsLeft) {
  FakeProduction production(1);
  const StreamSpec stream_spec = FakeStreamSpec(1000, 10);
  const auto channel = *arena::Channel::Create();
  Member member(1, channel.get(), {.flow = 1, .slots = 4}, stream_spec.batch,
                {.next_use_registry = nullptr, .dataset = stream_spec.dataset});
  member.Start(EpochPair::Of(stream_spec.sampler, 0), 0, 0);
  EXPECT_TRUE(member.Starves(0));
  member.Publish({.key = {0, 0}, .samples = 10}, /*generation=*/1, 0);
  member.Stop();
  EXPECT_EQ(member.Account().ready, 1);
  member.Start(EpochPair::Of(stream_spec.sampler, 1), 0, kSecond);
  EXPECT_TRUE(member.Starves(2 * kSecond));
}

}  // namespace
}  // namespace forebay::stream

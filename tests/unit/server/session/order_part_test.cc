#include "server/session/order_part.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace forebay::session {
namespace {

proto::DrawOrder Request(std::uint64_t first, std::uint32_t count) {
  proto::DrawOrder request;
  request.mutable_sampler()->set_order(proto::SamplerSpec::SHUFFLE);
  request.mutable_sampler()->set_seed(7);
  request.mutable_sampler()->set_rank(1);
  request.mutable_sampler()->set_world_size(2);
  request.mutable_sampler()->set_pad(proto::SamplerSpec::NONE);
  request.set_dataset_size(11);
  request.set_epoch(3);
  request.set_first(first);
  request.set_count(count);
  return request;
}

std::vector<std::uint64_t> Drawn(const proto::DrawOrder& request) {
  proto::OrderDrawn drawn;
  EXPECT_TRUE(DrawPart(request, drawn).ok());
  return {drawn.samples().begin(), drawn.samples().end()};
}

TEST(OrderPartTest, PartsMakeARanksOrder) {
  const std::vector<std::uint64_t> all = Drawn(Request(0, 6000));
  EXPECT_EQ(all.size(), 5) << "the other rank has six";
  EXPECT_EQ(std::set<std::uint64_t>(all.begin(), all.end()).size(), 5);
  std::vector<std::uint64_t> parts;
  for (const std::uint64_t first : {0, 2, 4}) {
    const std::vector<std::uint64_t> part = Drawn(Request(first, 2));
    parts.insert(parts.end(), part.begin(), part.end());
  }
  EXPECT_EQ(parts, all);
  EXPECT_TRUE(Drawn(Request(5, 1)).empty());
  EXPECT_TRUE(Drawn(Request(UINT64_MAX, 6000)).empty());
}

TEST(OrderPartTest, ThereAreAsManyAsAMessageTakes) {
  proto::DrawOrder request = Request(0, 6000);
  request.mutable_sampler()->set_world_size(1);
  request.mutable_sampler()->set_rank(0);
  request.set_dataset_size(std::uint64_t{1} << 61);
  proto::OrderDrawn drawn;
  ASSERT_TRUE(DrawPart(request, drawn).ok());
  EXPECT_EQ(drawn.samples_size(), 6000);
  EXPECT_LT(drawn.ByteSizeLong(), 64 * 1024 - 64);
}

TEST(OrderPartTest, RefusesWhatIsNoOrder) {
  proto::OrderDrawn drawn;
  EXPECT_TRUE(absl::IsInvalidArgument(DrawPart(Request(0, 0), drawn)));
  EXPECT_TRUE(absl::IsInvalidArgument(DrawPart(Request(0, 6001), drawn)));
  for (const auto order :
       {proto::SamplerSpec::LISTED, proto::SamplerSpec::BLOCK_SHUFFLE,
        proto::SamplerSpec::COORDINATED}) {
    proto::DrawOrder request = Request(0, 1);
    request.mutable_sampler()->set_order(order);
    request.mutable_sampler()->set_world_size(1);
    request.mutable_sampler()->set_rank(0);
    EXPECT_TRUE(absl::IsInvalidArgument(DrawPart(request, drawn)));
  }
  proto::DrawOrder request = Request(0, 1);
  request.set_epoch(UINT64_MAX);
  EXPECT_TRUE(absl::IsInvalidArgument(DrawPart(request, drawn)));
  request = Request(0, 1);
  request.set_dataset_size(UINT64_MAX);
  EXPECT_TRUE(absl::IsInvalidArgument(DrawPart(request, drawn)));
  request = Request(0, 1);
  request.mutable_sampler()->set_rank(2);
  EXPECT_TRUE(absl::IsInvalidArgument(DrawPart(request, drawn)));
}

}  // namespace
}  // namespace forebay::session

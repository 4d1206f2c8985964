#include "server/session/order_part.h"

#include <cstdint>
#include <set>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::session {
namespace {

using tests::HasCode;
using tests::IsOk;

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
  CHECK_THAT(DrawPart(request, drawn), IsOk());
  return {drawn.samples().begin(), drawn.samples().end()};
}

TEST_CASE("The parts of an order make up a rank's whole order",
          "[session][order_part]") {
  const std::vector<std::uint64_t> all = Drawn(Request(0, 6000));
  UNSCOPED_INFO("the other rank has six");
  CHECK(all.size() == 5);
  CHECK(std::set<std::uint64_t>(all.begin(), all.end()).size() == 5);
  std::vector<std::uint64_t> parts;
  for (const std::uint64_t first : {0, 2, 4}) {
    const std::vector<std::uint64_t> part = Drawn(Request(first, 2));
    parts.insert(parts.end(), part.begin(), part.end());
  }
  CHECK(parts == all);
  CHECK(Drawn(Request(5, 1)).empty());
  CHECK(Drawn(Request(UINT64_MAX, 6000)).empty());
}

TEST_CASE("A part of an order has as many samples as a message takes",
          "[session][order_part]") {
  proto::DrawOrder request = Request(0, 6000);
  request.mutable_sampler()->set_world_size(1);
  request.mutable_sampler()->set_rank(0);
  request.set_dataset_size(std::uint64_t{1} << 61);
  proto::OrderDrawn drawn;
  REQUIRE_THAT(DrawPart(request, drawn), IsOk());
  CHECK(drawn.samples_size() == 6000);
  CHECK(drawn.ByteSizeLong() < 64 * 1024 - 64);
}

TEST_CASE("A request to draw a part of what is not an order is refused",
          "[session][order_part]") {
  proto::OrderDrawn drawn;
  CHECK_THAT(DrawPart(Request(0, 0), drawn),
             HasCode(absl::StatusCode::kInvalidArgument));
  CHECK_THAT(DrawPart(Request(0, 6001), drawn),
             HasCode(absl::StatusCode::kInvalidArgument));
  for (const auto order :
       {proto::SamplerSpec::LISTED, proto::SamplerSpec::BLOCK_SHUFFLE,
        proto::SamplerSpec::COORDINATED}) {
    proto::DrawOrder request = Request(0, 1);
    request.mutable_sampler()->set_order(order);
    request.mutable_sampler()->set_world_size(1);
    request.mutable_sampler()->set_rank(0);
    CHECK_THAT(DrawPart(request, drawn),
               HasCode(absl::StatusCode::kInvalidArgument));
  }
  proto::DrawOrder request = Request(0, 1);
  request.set_epoch(UINT64_MAX);
  CHECK_THAT(DrawPart(request, drawn),
             HasCode(absl::StatusCode::kInvalidArgument));
  request = Request(0, 1);
  request.set_dataset_size(UINT64_MAX);
  CHECK_THAT(DrawPart(request, drawn),
             HasCode(absl::StatusCode::kInvalidArgument));
  request = Request(0, 1);
  request.mutable_sampler()->set_rank(2);
  CHECK_THAT(DrawPart(request, drawn),
             HasCode(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace forebay::session

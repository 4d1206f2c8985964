#include "server/pipeline/transform/scratch.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace forebay::pipeline::transform {
namespace {

TEST(ScratchTest, RefusesWhatPassesTheLimitAndNamesTheSizes) {
  Scratch scratch(1 << 16);
  ASSERT_TRUE(scratch.Allocate<std::uint8_t>(60'000, "the rows").ok());
  const auto more = scratch.Allocate<std::uint32_t>(2'000, "the rows");
  ASSERT_EQ(more.status().code(), absl::StatusCode::kResourceExhausted);
  const std::string message(more.status().message());
  EXPECT_NE(message.find("the rows"), std::string::npos);
  EXPECT_NE(message.find("2000 x 4 bytes"), std::string::npos);
  EXPECT_NE(message.find("65536"), std::string::npos);
}

TEST(ScratchTest, SizesDoNotOverflow) {
  Scratch scratch(1 << 16);
  EXPECT_FALSE(scratch.Allocate<std::uint64_t>(~std::uint64_t{0}, "x").ok());
  EXPECT_FALSE(
      scratch.Allocate<std::uint64_t>(std::uint64_t{1} << 61, "x").ok());
}

TEST(ScratchTest, GivesTheSameMemoryAgainAfterReset) {
  Scratch scratch(std::uint64_t{64} << 20);
  for (int round = 0; round < 3; ++round) {
    auto big = scratch.Allocate<std::uint8_t>(std::uint64_t{40} << 20, "big");
    ASSERT_TRUE(big.ok());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(*big) % 64, 0u);
    std::memset(*big, round, std::uint64_t{40} << 20);
    EXPECT_FALSE(
        scratch.Allocate<std::uint8_t>(std::uint64_t{40} << 20, "big").ok());
    scratch.Reset();
    EXPECT_EQ(scratch.used(), 0u);
  }
}

TEST(ScratchTest, WithoutAnyMemoryRefusesAll) {
  Scratch scratch(0);
  EXPECT_FALSE(scratch.Allocate<std::uint8_t>(1, "one").ok());
}

}  // namespace
}  // namespace forebay::pipeline::transform

#include "server/pipeline/transform/scratch.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

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
  }
}

TEST(ScratchTest, CountsWhatIsUsedElsewhere) {
  Scratch scratch(1 << 16);
  EXPECT_FALSE(scratch.ran_out());
  ASSERT_TRUE(scratch.Count(40'000, "decoding").ok());
  EXPECT_FALSE(scratch.ran_out());
  EXPECT_FALSE(scratch.Allocate<std::uint8_t>(40'000, "the rows").ok());
  EXPECT_TRUE(scratch.ran_out());
  scratch.Reset();
  EXPECT_FALSE(scratch.ran_out());
  EXPECT_TRUE(scratch.Allocate<std::uint8_t>(40'000, "the rows").ok());
  scratch.Reset();
  const absl::Status status = scratch.Count(70'000, "decoding");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(std::string(status.message()).find("image.scratch_limit"),
            std::string::npos);
}

// Bytes that are in memory, of `bytes` from `begin` on.
std::size_t Resident(void* begin, std::size_t bytes) {
  std::vector<unsigned char> pages((bytes + 4095) / 4096);
  EXPECT_EQ(mincore(begin, bytes, pages.data()), 0);
  return 4096 * static_cast<std::size_t>(
                    std::count_if(pages.begin(), pages.end(),
                                  [](unsigned char page) { return page & 1; }));
}

TEST(ScratchTest, KeepsNoMoreThanIsLeftBesideWhatIsUsedElsewhere) {
  constexpr std::size_t kBytes = 1 << 20;
  Scratch scratch(kBytes + 256);
  void* const all = *scratch.Allocate<std::uint8_t>(kBytes, "all");
  std::memset(all, 1, kBytes);
  scratch.Reset();
  ASSERT_TRUE(scratch.Count(kBytes / 4, "decoding").ok());
  EXPECT_EQ(Resident(all, kBytes), kBytes / 4 * 3);
}

TEST(ScratchTest, KeepsWhatCameFirst) {
  constexpr std::size_t kBytes = 20 << 20;
  Scratch scratch(2 * kBytes);
  std::uint8_t* const first = *scratch.Allocate<std::uint8_t>(kBytes, "first");
  std::memset(first, 1, kBytes);
  for (int round = 0; round < 3; ++round) {
    scratch.ResetBehind({first, kBytes});
    ASSERT_TRUE(scratch.Count(kBytes / 2, "decoding").ok());
    const auto more = scratch.Allocate<std::uint8_t>(kBytes / 4, "more");
    ASSERT_TRUE(more.ok());
    std::memset(*more, 2, kBytes / 4);
    EXPECT_FALSE(scratch.Allocate<std::uint8_t>(kBytes / 4, "more").ok());
  }
  EXPECT_EQ(std::count(first, first + kBytes, 1), kBytes);
  // Memory elsewhere keeps nothing.
  const std::uint8_t other = 0;
  scratch.ResetBehind({&other, 1});
  EXPECT_EQ(*scratch.Allocate<std::uint8_t>(2 * kBytes - 128, "all"), first);
}

TEST(ScratchTest, WithoutAnyMemoryRefusesAll) {
  Scratch scratch(0);
  EXPECT_FALSE(scratch.Allocate<std::uint8_t>(1, "one").ok());
}

}  // namespace
}  // namespace forebay::pipeline::transform

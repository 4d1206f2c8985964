#include "server/pipeline/transform/scratch.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::pipeline::transform {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

TEST_CASE("Scratch refuses what passes the limit and names the sizes",
          "[transform][scratch]") {
  Scratch scratch(1 << 16);
  REQUIRE_THAT(scratch.Allocate<std::uint8_t>(60'000, "the rows"), IsOk());
  const auto more = scratch.Allocate<std::uint32_t>(2'000, "the rows");
  REQUIRE_THAT(more, HasCode(absl::StatusCode::kResourceExhausted));
  const std::string message(more.status().message());
  CHECK_THAT(message, Contains("the rows"));
  CHECK_THAT(message, Contains("2000 x 4 bytes"));
  CHECK_THAT(message, Contains("65536"));
}

TEST_CASE("Sizes of scratch do not overflow", "[transform][scratch]") {
  Scratch scratch(1 << 16);
  CHECK_FALSE(scratch.Allocate<std::uint64_t>(~std::uint64_t{0}, "x").ok());
  CHECK_FALSE(
      scratch.Allocate<std::uint64_t>(std::uint64_t{1} << 61, "x").ok());
}

TEST_CASE("Scratch gives the same memory again after a reset",
          "[transform][scratch]") {
  Scratch scratch(std::uint64_t{64} << 20);
  for (int round = 0; round < 3; ++round) {
    auto big = scratch.Allocate<std::uint8_t>(std::uint64_t{40} << 20, "big");
    REQUIRE_THAT(big, IsOk());
    CHECK(reinterpret_cast<std::uintptr_t>(*big) % 64 == 0u);
    std::memset(*big, round, std::uint64_t{40} << 20);
    CHECK_FALSE(
        scratch.Allocate<std::uint8_t>(std::uint64_t{40} << 20, "big").ok());
    scratch.Reset();
  }
}

TEST_CASE("Scratch counts what is used elsewhere", "[transform][scratch]") {
  Scratch scratch(1 << 16);
  CHECK_FALSE(scratch.ran_out());
  REQUIRE_THAT(scratch.Count(40'000, "decoding"), IsOk());
  CHECK_FALSE(scratch.ran_out());
  CHECK_FALSE(scratch.Allocate<std::uint8_t>(40'000, "the rows").ok());
  CHECK(scratch.ran_out());
  scratch.Reset();
  CHECK_FALSE(scratch.ran_out());
  CHECK_THAT(scratch.Allocate<std::uint8_t>(40'000, "the rows"), IsOk());
  scratch.Reset();
  const absl::Status status = scratch.Count(70'000, "decoding");
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_THAT(status.message(), Contains("image.scratch_limit"));
}

// Returns how many bytes are in memory, of the `bytes` bytes from `begin` on.
std::size_t Resident(void* begin, std::size_t bytes) {
  std::vector<unsigned char> pages((bytes + 4095) / 4096);
  CHECK(mincore(begin, bytes, pages.data()) == 0);
  return 4096 * static_cast<std::size_t>(
                    std::count_if(pages.begin(), pages.end(),
                                  [](unsigned char page) { return page & 1; }));
}

TEST_CASE("Scratch keeps no more than is left beside what is used elsewhere",
          "[transform][scratch]") {
  constexpr std::size_t kBytes = 1 << 20;
  Scratch scratch(kBytes + 256);
  void* const all = *scratch.Allocate<std::uint8_t>(kBytes, "all");
  std::memset(all, 1, kBytes);
  scratch.Reset();
  REQUIRE_THAT(scratch.Count(kBytes / 4, "decoding"), IsOk());
  CHECK(Resident(all, kBytes) == kBytes / 4 * 3);
}

TEST_CASE("Scratch keeps what came first when the rest is reset",
          "[transform][scratch]") {
  constexpr std::size_t kBytes = 20 << 20;
  Scratch scratch(2 * kBytes);
  std::uint8_t* const first = *scratch.Allocate<std::uint8_t>(kBytes, "first");
  std::memset(first, 1, kBytes);
  for (int round = 0; round < 3; ++round) {
    scratch.ResetBehind({first, kBytes});
    REQUIRE_THAT(scratch.Count(kBytes / 2, "decoding"), IsOk());
    const auto more = scratch.Allocate<std::uint8_t>(kBytes / 4, "more");
    REQUIRE_THAT(more, IsOk());
    std::memset(*more, 2, kBytes / 4);
    CHECK_FALSE(scratch.Allocate<std::uint8_t>(kBytes / 4, "more").ok());
  }
  CHECK(std::count(first, first + kBytes, 1) == kBytes);
  // Memory outside of the scratch keeps nothing of it reserved.
  const std::uint8_t other = 0;
  scratch.ResetBehind({&other, 1});
  CHECK(*scratch.Allocate<std::uint8_t>(2 * kBytes - 128, "all") == first);
}

TEST_CASE("Scratch without any memory refuses all allocations",
          "[transform][scratch]") {
  Scratch scratch(0);
  CHECK_FALSE(scratch.Allocate<std::uint8_t>(1, "one").ok());
}

}  // namespace
}  // namespace forebay::pipeline::transform

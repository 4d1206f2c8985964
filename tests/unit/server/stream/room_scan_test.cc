#include "server/stream/room_scan.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/suite.h"

namespace forebay::stream {
namespace {

std::vector<FieldType> Types() {
  return {
      {.name = "tokens",
       .kind = proto::FieldKind::kArray,
       .value = {.dtype = proto::DType::kInt32,
                 .shape = {100'000},
                 .bytes = 400'000},
       .ragged = true},
      {.name = "label",
       .kind = proto::FieldKind::kLabel,
       .value = {.dtype = proto::DType::kInt64, .shape = {}, .bytes = 8}},
      {.name = "txt",
       .kind = proto::FieldKind::kText,
       .value = {
           .dtype = proto::DType::kUint8, .shape = {90'000}, .bytes = 90'000}}};
}

// Random samples, few of which are long. Each array has more elements than its
// length, as if the length included a header.
struct Samples {
  explicit Samples(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 500; ++i) {
      const std::uint64_t length = 1 + (random() % 100'000 >> random() % 17);
      lengths.push_back(length);
      tokens.push_back(std::min<std::uint64_t>(length * 4 + 64, 400'000));
      texts.push_back(random() % 90'000 >> random() % 10);
    }
  }

  std::vector<std::uint64_t> lengths;
  std::vector<std::uint64_t> tokens;
  std::vector<std::uint64_t> texts;
};

class RoomScanTest {
 public:
  using Subject = std::uint64_t;

  explicit RoomScanTest(Subject seed) : samples_(seed), random_(seed) {
    for (std::size_t i = 0; i < samples_.lengths.size(); ++i) {
      scan_.Add(
          std::vector<std::uint64_t>{samples_.tokens[i], 0, samples_.texts[i]},
          samples_.lengths[i]);
    }
  }

 protected:
  const Samples samples_;
  RoomScan scan_{Types()};
  std::mt19937_64 random_;
};

SUITE_CASE(RoomScanTest,
           "A room scan has room for any batch of so many samples",
           "[stream][room_scan]") {
  constexpr std::uint32_t kBatch = 32;
  const std::vector<std::uint64_t> room = scan_.BytesFor(kBatch, 0, false);
  REQUIRE(room.size() == 3u);
  CHECK(room[1] == 0u);
  CHECK(room[0] < 32 * 400'000u);
  std::vector<std::uint64_t> tokens = samples_.tokens;
  std::vector<std::uint64_t> texts = samples_.texts;
  std::sort(tokens.rbegin(), tokens.rend());
  std::sort(texts.rbegin(), texts.rend());
  CHECK(room[0] >= std::accumulate(tokens.begin(), tokens.begin() + kBatch,
                                   std::uint64_t{0}));
  CHECK(room[2] >= std::accumulate(texts.begin(), texts.begin() + kBatch,
                                   std::uint64_t{0}));
}

SUITE_CASE(RoomScanTest, "A room scan has room for any batch of such a length",
           "[stream][room_scan]") {
  constexpr std::uint64_t kMost = 100'000;
  const auto samples =
      static_cast<std::uint32_t>(scan_.lengths().MostWithin(kMost));
  const std::vector<std::uint64_t> room = scan_.BytesFor(samples, kMost, false);
  CHECK(room[0] <= kMost * 4 + samples * 64);
  for (int i = 0; i < 100; ++i) {
    std::uint64_t length = 0;
    std::uint64_t tokens = 0;
    std::uint64_t texts = 0;
    std::vector<std::size_t> order(samples_.lengths.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    for (const std::size_t sample : order) {
      if (length + samples_.lengths[sample] > kMost) continue;
      length += samples_.lengths[sample];
      tokens += samples_.tokens[sample];
      texts += samples_.texts[sample];
    }
    CHECK(tokens <= room[0]);
    CHECK(texts <= room[2]);
  }
}

const tests::RunsOn<RoomScanTest> kSeeds(tests::Seeds<std::uint64_t>(20));

// If lengths are times, a byte may have many units.
TEST_CASE("Lengths in a room scan may be of a small unit",
          "[stream][room_scan]") {
  RoomScan scan(Types());
  for (std::uint64_t i = 1; i <= 1000; ++i)
    scan.Add(std::vector<std::uint64_t>{i * 40, 0, 0}, i * 9000);
  const std::uint64_t room = scan.BytesFor(1000, 90'000, false)[0];
  CHECK(room >= 400u);
  CHECK(room < 410u);
}

TEST_CASE("A batch of a few samples takes no more room than the longest sample",
          "[stream][room_scan]") {
  RoomScan scan(Types());
  scan.Add(std::vector<std::uint64_t>{400'000, 0, 90'000}, 100'000);
  CHECK(scan.BytesFor(8, 0, false) ==
        std::vector<std::uint64_t>{400'000, 0, 90'000});
}

}  // namespace
}  // namespace forebay::stream

#include "server/storage/inflated/inflate_reader.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "server/base/crc32c.h"
#include "server/storage/inflated/scratch_pool.h"
#include "server/storage/inflated/windows.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/inflated/packed_files.h"

namespace forebay::storage::inflated {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

// Reads a range from a point on, `piece` compressed bytes at a time.
absl::StatusOr<std::string> ReadFrom(const std::string& packed,
                                     const InflatedFile& file,
                                     const Windows& windows,
                                     const AccessPoint& point,
                                     std::uint64_t offset, std::size_t length,
                                     std::size_t piece) {
  const auto window = windows.Find(point);
  if (!window.ok()) return window.status();
  std::string out(length, '\0');
  auto reader = InflateReader::Create(
      file.packing, point, AsBytes(*window), offset,
      {reinterpret_cast<std::uint8_t*>(out.data()), out.size()},
      std::make_shared<ScratchPool>());
  if (!reader.ok()) return reader.status();
  std::uint64_t at = InflateReader::BeginOf(point);
  while (!(*reader)->done()) {
    const auto took = (*reader)->Take(AsBytes(
        packed.substr(std::min<std::uint64_t>(at, packed.size()), piece)));
    if (!took.ok()) return took.status();
    if (*took == 0 && !(*reader)->pending() && !(*reader)->done())
      return absl::DataLossError("took nothing");
    at += *took;
  }
  return out;
}

// Blocks of every kind: stored, by fixed and by dynamic codes; one member, and
// many; and a zlib stream.
TEST_CASE("The inflate reader reads random ranges from every access point",
          "[inflated][inflate_reader]") {
  std::mt19937 random(1);
  std::string many;
  std::string of_many;
  for (std::uint32_t i = 0; i < 50; ++i) {
    const std::string part = i % 2 == 0 ? Prose(70'000, i) : Noise(50'000, i);
    of_many += part;
    many += Gzip(part, static_cast<int>(i % 10));
  }
  const std::string mixed = Prose(2'500'000, 1) + Noise(2'000'000, 2) +
                            std::string(2'000'000, 'x') + Prose(500'000, 3);
  struct Case {
    std::string packed;
    std::string text;
    Packing packing;
  };
  for (const Case& file : {Case{Gzip(mixed, 0), mixed, Packing::kGzip},
                           Case{Gzip(mixed, 1), mixed, Packing::kGzip},
                           Case{Gzip(mixed, 9), mixed, Packing::kGzip},
                           Case{Zlib(mixed, 6), mixed, Packing::kZlib},
                           Case{many, of_many, Packing::kGzip}}) {
    std::string kept;
    const auto scanned = ScanFile(file.packed, file.packing, 100'000, &kept);
    REQUIRE_THAT(scanned, IsOk());
    const Windows windows(kept);
    const auto& points = scanned->file.points;
    for (std::size_t i = 0; i < points.size(); ++i) {
      for (int tries = 0; tries < 4; ++tries) {
        const std::uint64_t offset = std::min<std::uint64_t>(
            points[i].offset + random() % 1'200'000, file.text.size());
        const std::size_t length = std::min<std::uint64_t>(
            random() % 200'000, file.text.size() - offset);
        const std::size_t piece = tries == 0 ? 1000 : 1 + random() % 300'000;
        const auto read = ReadFrom(file.packed, scanned->file, windows,
                                   points[i], offset, length, piece);
        REQUIRE_THAT(read, IsOk());
        UNSCOPED_INFO(i << ' ' << offset << '+' << length);
        REQUIRE(*read == file.text.substr(offset, length));
      }
    }
  }
}

TEST_CASE("The inflate reader makes only a bounded part at once",
          "[inflated][inflate_reader]") {
  const std::string text(64 << 20, 'x');
  const std::string packed = Gzip(text);
  std::string out(text.size(), '\0');
  auto reader = InflateReader::Create(
      Packing::kGzip, {}, {}, 0,
      {reinterpret_cast<std::uint8_t*>(out.data()), out.size()},
      std::make_shared<ScratchPool>());
  REQUIRE_THAT(reader, IsOk());
  std::string_view left = packed;
  int calls = 0;
  for (; !(*reader)->done(); ++calls) {
    const auto took = (*reader)->Take(AsBytes(left));
    REQUIRE_THAT(took, IsOk());
    left.remove_prefix(*took);
  }
  CHECK(calls == 16);
  CHECK(out == text);
}

TEST_CASE("The inflate reader tells of damage", "[inflated][inflate_reader]") {
  const std::string text = Noise(1'000'000, 1);
  std::string packed = Gzip(text);
  std::string windows;
  const auto scanned = ScanFile(packed, Packing::kGzip, 100'000, &windows);
  REQUIRE_THAT(scanned, IsOk());
  const Windows none("");
  const auto read = [&](const std::string& from, std::uint64_t offset,
                        std::size_t length) {
    return ReadFrom(from, scanned->file, none, {}, offset, length, 100'000)
        .status();
  };
  // Stored blocks: the second one's length.
  packed = Gzip(text, 0);
  packed[10 + 5 + 65535 + 1] ^= 1;
  CHECK_THAT(read(packed, 100'000, 10).message(),
             Contains("compressed data is damaged"));
  // More than there is.
  CHECK_THAT(read(Gzip("abc") + std::string(100, '\0'), 0, 10).message(),
             Contains("ends too early"));
}

TEST_CASE("The kept windows of an inflated file give back what they were given",
          "[inflated][inflate_reader]") {
  for (const std::string& window :
       {Prose(kWindowBytes, 1), Noise(kWindowBytes, 2), std::string(5, 'x')}) {
    const std::string kept = PackKept(AsBytes(window));
    CHECK(kept.size() <= window.size() + 1);
    std::string file = "before" + kept + "behind";
    AccessPoint point = {
        .window_offset = 6,
        .window_bytes = static_cast<std::uint32_t>(kept.size())};
    CHECK_THAT(Windows(file).Find(point), HasCode(absl::StatusCode::kDataLoss));
    point.window_crc32c = base::Crc32c(AsBytes(window));
    const auto found = Windows(file).Find(point);
    REQUIRE_THAT(found, IsOk());
    CHECK(*found == window);
    file[6 + kept.size() / 2] ^= 1;
    CHECK_THAT(Windows(file).Find(point), HasCode(absl::StatusCode::kDataLoss));
    point.window_offset = file.size();
    CHECK_THAT(Windows(file).Find(point), HasCode(absl::StatusCode::kDataLoss));
  }
  CHECK(PackKept(AsBytes(std::string(kWindowBytes, 'x'))).size() < 500);
}

}  // namespace
}  // namespace forebay::storage::inflated

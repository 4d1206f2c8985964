#include "server/storage/compressed/inflate_reader.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "server/base/crc32c.h"
#include "server/storage/compressed/point_windows.h"
#include "server/storage/compressed/scratch_pool.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/compressed/compressed_files.h"

namespace forebay::storage::compressed {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

// Reads a range from an access point on. The reader gets `piece` compressed
// bytes at a time.
absl::StatusOr<std::string> ReadFrom(const std::string& compressed,
                                     const DecompressedFile& file,
                                     const PointWindows& windows,
                                     const AccessPoint& point,
                                     std::uint64_t offset, std::size_t length,
                                     std::size_t piece) {
  const auto window = windows.Find(point);
  if (!window.ok()) return window.status();
  std::string out(length, '\0');
  auto reader = InflateReader::Create(
      file.compression, point, AsBytes(*window), offset,
      {reinterpret_cast<std::uint8_t*>(out.data()), out.size()},
      std::make_shared<ScratchPool>());
  if (!reader.ok()) return reader.status();
  std::uint64_t at = InflateReader::BeginOf(point);
  while (!(*reader)->done()) {
    const auto took = (*reader)->Take(AsBytes(compressed.substr(
        std::min<std::uint64_t>(at, compressed.size()), piece)));
    if (!took.ok()) return took.status();
    if (*took == 0 && !(*reader)->pending() && !(*reader)->done())
      return absl::DataLossError("took nothing");
    at += *took;
  }
  return out;
}

// The files have blocks of every kind (RFC 1951 3.2.3): stored, with fixed and
// with dynamic codes. They have one gzip member, or many, or a zlib stream.
TEST_CASE("The inflate reader reads random ranges from every access point",
          "[compressed][inflate_reader]") {
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
    std::string compressed;
    std::string text;
    Compression compression;
  };
  for (const Case& file : {Case{Gzip(mixed, 0), mixed, Compression::kGzip},
                           Case{Gzip(mixed, 1), mixed, Compression::kGzip},
                           Case{Gzip(mixed, 9), mixed, Compression::kGzip},
                           Case{Zlib(mixed, 6), mixed, Compression::kZlib},
                           Case{many, of_many, Compression::kGzip}}) {
    std::string kept;
    const auto scanned =
        ScanFile(file.compressed, file.compression, 100'000, &kept);
    REQUIRE_THAT(scanned, IsOk());
    const PointWindows windows(kept);
    const auto& points = scanned->file.points;
    for (std::size_t i = 0; i < points.size(); ++i) {
      for (int tries = 0; tries < 4; ++tries) {
        const std::uint64_t offset = std::min<std::uint64_t>(
            points[i].offset + random() % 1'200'000, file.text.size());
        const std::size_t length = std::min<std::uint64_t>(
            random() % 200'000, file.text.size() - offset);
        const std::size_t piece = tries == 0 ? 1000 : 1 + random() % 300'000;
        const auto read = ReadFrom(file.compressed, scanned->file, windows,
                                   points[i], offset, length, piece);
        REQUIRE_THAT(read, IsOk());
        UNSCOPED_INFO(i << ' ' << offset << '+' << length);
        REQUIRE(*read == file.text.substr(offset, length));
      }
    }
  }
}

TEST_CASE("The inflate reader makes only a bounded part at once",
          "[compressed][inflate_reader]") {
  const std::string text(64 << 20, 'x');
  const std::string compressed = Gzip(text);
  std::string out(text.size(), '\0');
  auto reader = InflateReader::Create(
      Compression::kGzip, {}, {}, 0,
      {reinterpret_cast<std::uint8_t*>(out.data()), out.size()},
      std::make_shared<ScratchPool>());
  REQUIRE_THAT(reader, IsOk());
  std::string_view left = compressed;
  int calls = 0;
  for (; !(*reader)->done(); ++calls) {
    const auto took = (*reader)->Take(AsBytes(left));
    REQUIRE_THAT(took, IsOk());
    left.remove_prefix(*took);
  }
  CHECK(calls == 16);
  CHECK(out == text);
}

TEST_CASE("The inflate reader tells of damage",
          "[compressed][inflate_reader]") {
  const std::string text = Noise(1'000'000, 1);
  std::string compressed = Gzip(text);
  std::string windows;
  const auto scanned =
      ScanFile(compressed, Compression::kGzip, 100'000, &windows);
  REQUIRE_THAT(scanned, IsOk());
  const PointWindows none("");
  const auto read = [&](const std::string& from, std::uint64_t offset,
                        std::size_t length) {
    return ReadFrom(from, scanned->file, none, {}, offset, length, 100'000)
        .status();
  };
  // The changed byte is in the length of the second stored block (RFC 1951
  // 3.2.4).
  compressed = Gzip(text, 0);
  compressed[10 + 5 + 65535 + 1] ^= 1;
  CHECK_THAT(read(compressed, 100'000, 10).message(),
             Contains("compressed data is damaged"));
  // The range lies past the end of the content.
  CHECK_THAT(read(Gzip("abc") + std::string(100, '\0'), 0, 10).message(),
             Contains("ends too early"));
}

TEST_CASE(
    "The kept windows of a compressed file give back what they were given",
    "[compressed][inflate_reader]") {
  for (const std::string& window :
       {Prose(kWindowBytes, 1), Noise(kWindowBytes, 2), std::string(5, 'x')}) {
    const std::string kept = CompressOrStore(AsBytes(window));
    CHECK(kept.size() <= window.size() + 1);
    std::string file = "before" + kept + "behind";
    AccessPoint point = {
        .window_offset = 6,
        .window_bytes = static_cast<std::uint32_t>(kept.size())};
    CHECK_THAT(PointWindows(file).Find(point),
               HasCode(absl::StatusCode::kDataLoss));
    point.window_crc32c = base::Crc32c(AsBytes(window));
    const auto found = PointWindows(file).Find(point);
    REQUIRE_THAT(found, IsOk());
    CHECK(*found == window);
    file[6 + kept.size() / 2] ^= 1;
    CHECK_THAT(PointWindows(file).Find(point),
               HasCode(absl::StatusCode::kDataLoss));
    point.window_offset = file.size();
    CHECK_THAT(PointWindows(file).Find(point),
               HasCode(absl::StatusCode::kDataLoss));
  }
  CHECK(CompressOrStore(AsBytes(std::string(kWindowBytes, 'x'))).size() < 500);
}

}  // namespace
}  // namespace forebay::storage::compressed

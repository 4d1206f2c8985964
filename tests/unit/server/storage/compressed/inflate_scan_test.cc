#include "server/storage/compressed/inflate_scan.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/base/working_memory.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/storage/compressed/compressed_files.h"

namespace forebay::storage::compressed {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

Scanned Scan(const std::string& compressed,
             Compression compression = Compression::kGzip,
             std::size_t piece = 1 << 18) {
  std::string windows;
  auto scanned = ScanFile(compressed, compression, piece, &windows);
  CHECK_THAT(scanned, IsOk());
  return scanned.ok() ? *scanned : Scanned();
}

std::string ErrorOf(const std::string& compressed,
                    Compression compression = Compression::kGzip) {
  std::string windows;
  const auto scanned = ScanFile(compressed, compression, 1000, &windows);
  CHECK_THAT(scanned, HasCode(absl::StatusCode::kDataLoss));
  return std::string(scanned.status().message());
}

// Returns the bytes that the scan gives for the beginning of a file.
std::string StartOf(std::string_view compressed, std::size_t piece) {
  base::WorkingMemory memory(base::AmpleBudget(), "a scan");
  const auto scan = InflateScan::Create(Compression::kGzip, &memory);
  CHECK_THAT(scan, IsOk());
  std::string text;
  for (std::size_t at = 0; at < compressed.size(); at += piece) {
    const absl::Status status = (*scan)->Take(
        AsBytes(compressed.substr(at, piece)),
        [&](absl::Span<const std::uint8_t> bytes) {
          text.append(bytes.begin(), bytes.end());
          return absl::OkStatus();
        },
        [](const ScanPoint&) { return absl::OkStatus(); });
    CHECK_THAT(status, IsOk());
  }
  CHECK((*scan)->decompressed_bytes() == text.size());
  return text;
}

TEST_CASE("The inflate scan inflates a file however much is given at a time",
          "[compressed][inflate_scan]") {
  const std::string text = Prose(300'000, 1);
  for (const std::size_t piece : {1, 7, 4096, 1 << 20}) {
    CHECK(Scan(Gzip(text), Compression::kGzip, piece).text == text);
    CHECK(Scan(Zlib(text), Compression::kZlib, piece).text == text);
  }
}

// A compressed byte may mean a thousand zeros, more than fit into the rest of
// the output.
TEST_CASE("The inflate scan holds nothing back of what it took",
          "[compressed][inflate_scan]") {
  const std::string compressed = Gzip(std::string(200'000, '\0'), 9);
  for (std::size_t size = 1; size <= compressed.size(); ++size) {
    const std::string_view start = std::string_view(compressed).substr(0, size);
    CAPTURE(size);
    CHECK(StartOf(start, size).size() == StartOf(start, 1).size());
  }
}

TEST_CASE("The inflate scan finds an access point in each megabyte",
          "[compressed][inflate_scan]") {
  for (const int level : {0, 1, 6, 9}) {
    for (const std::string& text : {Prose(4'000'000, 2), Noise(4'000'000, 3)}) {
      const Scanned scanned = Scan(Gzip(text, level));
      REQUIRE(scanned.text == text);
      const auto& points = scanned.file.points;
      REQUIRE(points.size() >= 4);
      CHECK(points.front().offset == 0);
      CHECK(points.front().bit == 0);
      CHECK(points.front().window_bytes == 0);
      for (std::size_t i = 1; i < points.size(); ++i) {
        CHECK(points[i].offset > points[i - 1].offset);
        CHECK(points[i].offset - points[i - 1].offset <= kMostApart);
        CHECK(points[i].window_bytes > 0);
      }
      CHECK(text.size() - points.back().offset <= kMostApart);
      CHECK(points.size() <= 8);
    }
  }
}

TEST_CASE("The inflate scan takes gzip members one behind the other",
          "[compressed][inflate_scan]") {
  std::string compressed;
  std::string text;
  for (std::uint32_t i = 0; i < 100; ++i) {
    const std::string part = Prose(60'000, i);
    compressed += Gzip(part);
    text += part;
  }
  compressed += Gzip("");
  const Scanned scanned = Scan(compressed, Compression::kGzip, 5000);
  CHECK(scanned.text == text);
  REQUIRE(scanned.file.points.size() >= 6);
  CHECK(scanned.file.points.size() <= 12);
  // The beginning of a member needs no window.
  for (const AccessPoint& point : scanned.file.points)
    CHECK(point.window_bytes == 0);
}

TEST_CASE("The inflate scan takes zeros behind the compressed data",
          "[compressed][inflate_scan]") {
  CHECK(Scan(Gzip("abc") + std::string(10'000, '\0')).text == "abc");
  CHECK(Scan(Zlib("abc") + std::string(3, '\0'), Compression::kZlib).text ==
        "abc");
}

TEST_CASE(
    "The inflate scan refuses what is not zeros behind the compressed data",
    "[compressed][inflate_scan]") {
  constexpr char kReason[] = "lies behind the compressed data";
  CHECK_THAT(ErrorOf(Gzip("abc") + "garbage"), Contains(kReason));
  CHECK_THAT(ErrorOf(Gzip("abc") + "\x1fgarbage"), Contains(kReason));
  CHECK_THAT(ErrorOf(Gzip("abc") + std::string(1000, '\0') + "x"),
             Contains(kReason));
  CHECK_THAT(ErrorOf(Zlib("abc") + Zlib("def"), Compression::kZlib),
             Contains(kReason));
}

TEST_CASE("The inflate scan tells of every truncation",
          "[compressed][inflate_scan]") {
  const std::string first = Gzip(Prose(5000, 1));
  const std::string compressed = first + Gzip(Prose(300, 2));
  for (std::size_t size = 1; size < compressed.size(); ++size) {
    if (size == first.size()) continue;  // this prefix is a whole file
    CAPTURE(size);
    CHECK_THAT(ErrorOf(compressed.substr(0, size)), Contains("is truncated"));
  }
  CHECK_THAT(ErrorOf(""), Contains("is empty"));
}

TEST_CASE("The inflate scan checks checksums and lengths",
          "[compressed][inflate_scan]") {
  std::string compressed = Gzip(Prose(5000, 1));
  compressed[compressed.size() - 8] ^= 1;
  CHECK_THAT(ErrorOf(compressed), Contains("incorrect data check"));
  compressed[compressed.size() - 8] ^= 1;
  compressed[compressed.size() - 1] ^= 1;
  CHECK_THAT(ErrorOf(compressed), Contains("incorrect length check"));
  std::string zlib = Zlib(Prose(5000, 1));
  zlib.back() ^= 1;
  CHECK_THAT(ErrorOf(zlib, Compression::kZlib), Contains("data check"));
}

// Content of a thousand times the file's size needs no more memory, and gets
// its access points.
TEST_CASE("The inflate scan inflates zeros to a thousand times their size",
          "[compressed][inflate_scan]") {
  const std::string compressed = Gzip(std::string(100 << 20, '\0'), 9);
  REQUIRE(compressed.size() < 110'000);
  const Scanned scanned = Scan(compressed);
  CHECK(scanned.file.size == 100 << 20);
  // A block that zlib writes has at most 16,383 symbols of 258 bytes each.
  CHECK(scanned.file.points.size() >= 20);
}

TEST_CASE("The inflate scan ends with the error of a callback",
          "[compressed][inflate_scan]") {
  base::WorkingMemory memory(base::AmpleBudget(), "a scan");
  const auto scan = InflateScan::Create(Compression::kGzip, &memory);
  REQUIRE_THAT(scan, IsOk());
  const std::string compressed = Gzip(Prose(500'000, 1));
  int calls = 0;
  const absl::Status status = (*scan)->Take(
      AsBytes(compressed),
      [&](absl::Span<const std::uint8_t>) {
        return ++calls == 2 ? absl::CancelledError("enough") : absl::OkStatus();
      },
      [](const ScanPoint&) { return absl::OkStatus(); });
  CHECK(status == absl::CancelledError("enough"));
  CHECK(calls == 2);
}

}  // namespace
}  // namespace forebay::storage::compressed

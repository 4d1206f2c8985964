#include "server/storage/compressed/zstd_scan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "server/storage/compressed/point_windows.h"
#include "server/storage/compressed/zstd_reader.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/storage/compressed/compressed_files.h"

namespace forebay::storage::compressed {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

Scanned Scan(const std::string& compressed, std::size_t piece = 1 << 18,
             std::string* windows = nullptr) {
  std::string unused;
  auto scanned = ScanFile(compressed, Compression::kZstd, piece,
                          windows == nullptr ? &unused : windows);
  CHECK_THAT(scanned, IsOk());
  return scanned.ok() ? *scanned : Scanned();
}

absl::Status ErrorOf(const std::string& compressed, std::size_t piece = 1000) {
  std::string windows;
  return ScanFile(compressed, Compression::kZstd, piece, &windows).status();
}

std::string DataLossOf(const std::string& compressed) {
  const absl::Status status = ErrorOf(compressed);
  CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
  return std::string(status.message());
}

// Checks that the stored pieces have the text's bytes. Returns the pieces'
// bytes.
std::uint64_t CheckPieces(const Scanned& scanned, const std::string& kept) {
  const auto& points = scanned.file.points;
  const PointWindows windows(kept);
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!HasPiece(Compression::kZstd, points[i])) continue;
    const std::uint64_t end =
        i + 1 < points.size() ? points[i + 1].offset : scanned.file.size;
    const auto piece = windows.FindPiece(points[i], end - points[i].offset);
    CHECK_THAT(piece, IsOk());
    CHECK((piece.ok() &&
           *piece == scanned.text.substr(points[i].offset, piece->size())));
    bytes += end - points[i].offset;
  }
  return bytes;
}

TEST_CASE("The zstd scan decompresses a file however much is given at a time",
          "[compressed][zstd_scan]") {
  const std::string text = Prose(300'000, 1);
  const std::string compressed = SkippedFrame("first") + Zstd(text) +
                                 SkippedFrame("") + Zstd("") + Zstd(text) +
                                 SkippedFrame(std::string(50'000, 'x'));
  for (const std::size_t piece : {1, 7, 4096, 1 << 20}) {
    CAPTURE(piece);
    CHECK(Scan(compressed, piece).text == text + text);
  }
}

TEST_CASE(
    "The zstd scan finds an access point in each megabyte of short frames",
    "[compressed][zstd_scan]") {
  const std::string text = Prose(4'000'000, 1) + Noise(4'000'000, 2);
  for (const std::size_t each : {1000, 50'000, 400'000}) {
    const Scanned scanned = Scan(ManyZstd(text, each));
    CHECK(scanned.text == text);
    const auto& points = scanned.file.points;
    CHECK(points.size() >= 7);
    CHECK(points.size() <= 16);
    CHECK(points.front().offset == 0);
    CHECK(points.front().bit > 0);  // the point lies after a skippable frame
    for (std::size_t i = 0; i < points.size(); ++i) {
      CHECK(points[i].window_bytes == 0);
      const std::uint64_t next =
          i + 1 < points.size() ? points[i + 1].offset : text.size();
      CHECK(next - points[i].offset <= kMostApart);
    }
  }
}

TEST_CASE(
    "The zstd scan keeps pieces of what lies far behind a frame's beginning",
    "[compressed][zstd_scan]") {
  const std::string text = Prose(10'500'000, 1) + Noise(10'000'000, 2);
  for (const bool tells_size : {false, true}) {
    std::string kept;
    const Scanned scanned =
        Scan(Zstd(text, {.tells_size = tells_size}) + Zstd("behind"), 100'000,
             &kept);
    CHECK(scanned.text == text + "behind");
    const auto& points = scanned.file.points;
    REQUIRE(points.size() >= 14);
    CHECK(points[0].window_bytes == 0);
    CHECK(points[1].offset == ZstdReader::kMostSkip);
    CHECK(CheckPieces(scanned, kept) == text.size() - points[1].offset);
    // The beginning of the next frame is an access point, again without a
    // window.
    CHECK(points.back().offset == text.size());
    CHECK(points.back().window_bytes == 0);
  }
}

TEST_CASE("The zstd scan keeps all of a frame with a long window",
          "[compressed][zstd_scan]") {
  const std::string text = Prose(3'000'000, 1);
  std::string kept;
  const Scanned scanned =
      Scan(Zstd(text, {.window_log = 24, .tells_size = false}), 100'000, &kept);
  CHECK(scanned.text == text);
  CHECK(scanned.file.points.size() == 3);
  CHECK(CheckPieces(scanned, kept) == text.size());
}

// Frames without content have no byte that an access point could serve.
TEST_CASE("Empty zstd frames are not made access points",
          "[compressed][zstd_scan]") {
  const std::string wide = Zstd("", {.window_log = 24, .tells_size = false});
  const std::string text = Prose(600'000, 1);
  std::string kept;
  const Scanned scanned =
      Scan(wide + Zstd("") + wide + Zstd(text) + wide + Zstd("") + Zstd(text) +
               wide + wide + Zstd(text),
           1000, &kept);
  CHECK(scanned.text == text + text + text);
  const auto& points = scanned.file.points;
  REQUIRE(points.size() == 3);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(points[i].offset == i * text.size());
  CHECK_THAT(kept, Catch::Equals(""));
  const Scanned empty = Scan(wide + Zstd(""));
  CHECK(empty.file.size == 0);
  CHECK(empty.file.points.size() == 1);
}

TEST_CASE("The zstd scan refuses what lies behind the compressed data",
          "[compressed][zstd_scan]") {
  constexpr char kReason[] = "lies behind the compressed data";
  CHECK_THAT(DataLossOf(Zstd("abc") + "garbage"), Contains(kReason));
  CHECK_THAT(DataLossOf(Zstd("abc") + std::string(100, '\0')),
             Contains(kReason));
  CHECK_THAT(DataLossOf("garbage"), Contains("no zstd frame begins there"));
}

TEST_CASE("The zstd scan tells of every truncation",
          "[compressed][zstd_scan]") {
  const std::string first = SkippedFrame("abc");
  const std::string second = first + Zstd(Prose(5000, 1));
  const std::string compressed = second + Zstd(Prose(300, 2));
  for (std::size_t size = 1; size < compressed.size(); ++size) {
    if (size == first.size() || size == second.size()) continue;
    CAPTURE(size);
    CHECK_THAT(DataLossOf(compressed.substr(0, size)),
               Contains("is truncated"));
  }
  CHECK_THAT(DataLossOf(""), Contains("is empty"));
}

TEST_CASE("The zstd scan checks checksums", "[compressed][zstd_scan]") {
  std::string compressed = Zstd(Prose(5000, 1));
  compressed.back() ^= 1;
  CHECK_THAT(DataLossOf(compressed), Contains("checksum"));
}

TEST_CASE("The zstd scan refuses long windows and dictionaries",
          "[compressed][zstd_scan]") {
  std::string compressed = Zstd("abc", {.window_log = 24, .tells_size = false});
  compressed[5] = static_cast<char>((28 - 10) << 3);
  absl::Status status = ErrorOf(compressed);
  CHECK_THAT(status, HasCode(absl::StatusCode::kUnimplemented));
  CHECK_THAT(status.message(), Contains("a window of 268435456 bytes"));
  status = ErrorOf("\x28\xb5\x2f\xfd\x21\x07\x03rest of it");
  CHECK_THAT(status, HasCode(absl::StatusCode::kUnimplemented));
  CHECK_THAT(status.message(), Contains("dictionary"));
}

// A header may request a large window, whatever the file's size.
TEST_CASE("The zstd scan counts the memory of a window",
          "[compressed][zstd_scan]") {
  base::MemoryBudget budget(std::uint64_t{64} << 20);
  base::WorkingMemory memory(&budget, "a scan");
  const auto none = [](const ScanPoint&) { return absl::OkStatus(); };
  const auto out = [](absl::Span<const std::uint8_t>) {
    return absl::OkStatus();
  };
  auto scan = ZstdScan::Create(&memory);
  REQUIRE_THAT(scan, IsOk());
  CHECK_THAT((*scan)->Take(
                 AsBytes(Zstd("abc", {.window_log = 27, .tells_size = false})),
                 out, none),
             HasCode(absl::StatusCode::kResourceExhausted));
  scan->reset();
  scan = ZstdScan::Create(&memory);
  REQUIRE_THAT(scan, IsOk());
  CHECK_THAT((*scan)->Take(
                 AsBytes(Zstd("abc", {.window_log = 25, .tells_size = false})),
                 out, none),
             IsOk());
  CHECK_THAT((*scan)->Finish(none), IsOk());
}

TEST_CASE("The zstd scan ends with the error of a callback",
          "[compressed][zstd_scan]") {
  base::WorkingMemory memory(base::AmpleBudget(), "a scan");
  const auto scan = ZstdScan::Create(&memory);
  REQUIRE_THAT(scan, IsOk());
  int calls = 0;
  const absl::Status status = (*scan)->Take(
      AsBytes(Zstd(Prose(500'000, 1))),
      [&](absl::Span<const std::uint8_t>) {
        return ++calls == 2 ? absl::CancelledError("enough") : absl::OkStatus();
      },
      [](const ScanPoint&) { return absl::OkStatus(); });
  CHECK(status == absl::CancelledError("enough"));
  CHECK(calls == 2);
}

}  // namespace
}  // namespace forebay::storage::compressed

#include "server/storage/inflated/zstd_scan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/storage/inflated/windows.h"
#include "server/storage/inflated/zstd_reader.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/storage/inflated/packed_files.h"

namespace forebay::storage::inflated {
namespace {

using testing::HasSubstr;

Scanned Scan(const std::string& packed, std::size_t piece = 1 << 18,
             std::string* windows = nullptr) {
  std::string unused;
  auto scanned = ScanFile(packed, Packing::kZstd, piece,
                          windows == nullptr ? &unused : windows);
  EXPECT_TRUE(scanned.ok()) << scanned.status();
  return scanned.ok() ? *scanned : Scanned();
}

absl::Status ErrorOf(const std::string& packed, std::size_t piece = 1000) {
  std::string windows;
  return ScanFile(packed, Packing::kZstd, piece, &windows).status();
}

std::string DataLossOf(const std::string& packed) {
  const absl::Status status = ErrorOf(packed);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  return std::string(status.message());
}

// Checks that the kept pieces are those of the text, and returns their bytes.
std::uint64_t CheckPieces(const Scanned& scanned, const std::string& kept) {
  const auto& points = scanned.file.points;
  const Windows windows(kept);
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!HasPiece(Packing::kZstd, points[i])) continue;
    const std::uint64_t end =
        i + 1 < points.size() ? points[i + 1].offset : scanned.file.size;
    const auto piece = windows.FindPiece(points[i], end - points[i].offset);
    EXPECT_TRUE(piece.ok()) << piece.status();
    EXPECT_TRUE(piece.ok() &&
                *piece == scanned.text.substr(points[i].offset, piece->size()));
    bytes += end - points[i].offset;
  }
  return bytes;
}

TEST(ZstdScanTest, InflatesWhateverIsGivenAtATime) {
  const std::string text = Prose(300'000, 1);
  const std::string packed = SkippedFrame("first") + Zstd(text) +
                             SkippedFrame("") + Zstd("") + Zstd(text) +
                             SkippedFrame(std::string(50'000, 'x'));
  for (const std::size_t piece : {1, 7, 4096, 1 << 20})
    EXPECT_TRUE(Scan(packed, piece).text == text + text) << piece;
}

TEST(ZstdScanTest, FindsAPointInEachMegabyteOfShortFrames) {
  const std::string text = Prose(4'000'000, 1) + Noise(4'000'000, 2);
  for (const std::size_t each : {1000, 50'000, 400'000}) {
    const Scanned scanned = Scan(ManyZstd(text, each));
    EXPECT_TRUE(scanned.text == text);
    const auto& points = scanned.file.points;
    EXPECT_GE(points.size(), 7);
    EXPECT_LE(points.size(), 16);
    EXPECT_EQ(points.front().offset, 0);
    EXPECT_GT(points.front().bit, 0);  // behind a frame that is skipped
    for (std::size_t i = 0; i < points.size(); ++i) {
      EXPECT_EQ(points[i].window_bytes, 0);
      const std::uint64_t next =
          i + 1 < points.size() ? points[i + 1].offset : text.size();
      EXPECT_LE(next - points[i].offset, kMostApart);
    }
  }
}

TEST(ZstdScanTest, KeepsPiecesOfWhatLiesFarBehindAFramesBegin) {
  const std::string text = Prose(10'500'000, 1) + Noise(10'000'000, 2);
  for (const bool tells_size : {false, true}) {
    std::string kept;
    const Scanned scanned =
        Scan(Zstd(text, {.tells_size = tells_size}) + Zstd("behind"), 100'000,
             &kept);
    EXPECT_TRUE(scanned.text == text + "behind");
    const auto& points = scanned.file.points;
    ASSERT_GE(points.size(), 14);
    EXPECT_EQ(points[0].window_bytes, 0);
    EXPECT_EQ(points[1].offset, ZstdReader::kMostSkip);
    EXPECT_EQ(CheckPieces(scanned, kept), text.size() - points[1].offset);
    // The next frame's begin is one again.
    EXPECT_EQ(points.back().offset, text.size());
    EXPECT_EQ(points.back().window_bytes, 0);
  }
}

TEST(ZstdScanTest, KeepsAllOfAFrameWithALongWindow) {
  const std::string text = Prose(3'000'000, 1);
  std::string kept;
  const Scanned scanned =
      Scan(Zstd(text, {.window_log = 24, .tells_size = false}), 100'000, &kept);
  EXPECT_TRUE(scanned.text == text);
  EXPECT_EQ(scanned.file.points.size(), 3);
  EXPECT_EQ(CheckPieces(scanned, kept), text.size());
}

// Frames without content have no bytes that a point could be for.
TEST(ZstdScanTest, EmptyFramesAreNoPoints) {
  const std::string wide = Zstd("", {.window_log = 24, .tells_size = false});
  const std::string text = Prose(600'000, 1);
  std::string kept;
  const Scanned scanned =
      Scan(wide + Zstd("") + wide + Zstd(text) + wide + Zstd("") + Zstd(text) +
               wide + wide + Zstd(text),
           1000, &kept);
  EXPECT_TRUE(scanned.text == text + text + text);
  const auto& points = scanned.file.points;
  ASSERT_EQ(points.size(), 3);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(points[i].offset, i * text.size());
  EXPECT_EQ(kept, "");
  const Scanned empty = Scan(wide + Zstd(""));
  EXPECT_EQ(empty.file.size, 0);
  EXPECT_EQ(empty.file.points.size(), 1);
}

TEST(ZstdScanTest, RefusesWhatLiesBehindAll) {
  constexpr char kReason[] = "lies behind the compressed data";
  EXPECT_THAT(DataLossOf(Zstd("abc") + "garbage"), HasSubstr(kReason));
  EXPECT_THAT(DataLossOf(Zstd("abc") + std::string(100, '\0')),
              HasSubstr(kReason));
  EXPECT_THAT(DataLossOf("garbage"), HasSubstr("no zstd frame begins there"));
}

TEST(ZstdScanTest, TellsOfEveryTruncation) {
  const std::string first = SkippedFrame("abc");
  const std::string second = first + Zstd(Prose(5000, 1));
  const std::string packed = second + Zstd(Prose(300, 2));
  for (std::size_t size = 1; size < packed.size(); ++size) {
    if (size == first.size() || size == second.size()) continue;
    EXPECT_THAT(DataLossOf(packed.substr(0, size)), HasSubstr("is truncated"))
        << size;
  }
  EXPECT_THAT(DataLossOf(""), HasSubstr("is empty"));
}

TEST(ZstdScanTest, ChecksChecksums) {
  std::string packed = Zstd(Prose(5000, 1));
  packed.back() ^= 1;
  EXPECT_THAT(DataLossOf(packed), HasSubstr("checksum"));
}

TEST(ZstdScanTest, RefusesLongWindowsAndDictionaries) {
  std::string packed = Zstd("abc", {.window_log = 24, .tells_size = false});
  packed[5] = static_cast<char>((28 - 10) << 3);
  absl::Status status = ErrorOf(packed);
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("a window of 268435456 bytes"));
  status = ErrorOf("\x28\xb5\x2f\xfd\x21\x07\x03rest of it");
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("dictionary"));
}

// A header may ask for much, whatever the file has.
TEST(ZstdScanTest, CountsTheMemoryOfAWindow) {
  base::MemoryBudget budget(std::uint64_t{64} << 20);
  base::WorkingMemory memory(&budget, "a scan");
  const auto none = [](const FoundPoint&) { return absl::OkStatus(); };
  const auto out = [](absl::Span<const std::uint8_t>) {
    return absl::OkStatus();
  };
  auto scan = ZstdScan::Create(&memory);
  ASSERT_TRUE(scan.ok());
  EXPECT_TRUE(absl::IsResourceExhausted((*scan)->Take(
      AsBytes(Zstd("abc", {.window_log = 27, .tells_size = false})), out,
      none)));
  scan->reset();
  scan = ZstdScan::Create(&memory);
  ASSERT_TRUE(scan.ok());
  EXPECT_TRUE(
      (*scan)
          ->Take(AsBytes(Zstd("abc", {.window_log = 25, .tells_size = false})),
                 out, none)
          .ok());
  EXPECT_TRUE((*scan)->Finish(none).ok());
}

TEST(ZstdScanTest, EndsWithTheErrorOfACallback) {
  base::WorkingMemory memory(base::AmpleBudget(), "a scan");
  const auto scan = ZstdScan::Create(&memory);
  ASSERT_TRUE(scan.ok());
  int calls = 0;
  const absl::Status status = (*scan)->Take(
      AsBytes(Zstd(Prose(500'000, 1))),
      [&](absl::Span<const std::uint8_t>) {
        return ++calls == 2 ? absl::CancelledError("enough") : absl::OkStatus();
      },
      [](const FoundPoint&) { return absl::OkStatus(); });
  EXPECT_EQ(status, absl::CancelledError("enough"));
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace forebay::storage::inflated

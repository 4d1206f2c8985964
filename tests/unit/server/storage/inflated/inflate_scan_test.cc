#include "server/storage/inflated/inflate_scan.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/working_memory.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/storage/inflated/packed_files.h"

namespace forebay::storage::inflated {
namespace {

using testing::HasSubstr;

Scanned Scan(const std::string& packed, Packing packing = Packing::kGzip,
             std::size_t piece = 1 << 18) {
  std::string windows;
  auto scanned = ScanFile(packed, packing, piece, &windows);
  EXPECT_TRUE(scanned.ok()) << scanned.status();
  return scanned.ok() ? *scanned : Scanned();
}

std::string ErrorOf(const std::string& packed,
                    Packing packing = Packing::kGzip) {
  std::string windows;
  const auto scanned = ScanFile(packed, packing, 1000, &windows);
  EXPECT_TRUE(absl::IsDataLoss(scanned.status())) << scanned.status();
  return std::string(scanned.status().message());
}

// Returns the bytes that the scan gives of the beginning of a file.
std::string StartOf(std::string_view packed, std::size_t piece) {
  base::WorkingMemory memory(base::AmpleBudget(), "a scan");
  const auto scan = InflateScan::Create(Packing::kGzip, &memory);
  EXPECT_TRUE(scan.ok());
  std::string text;
  for (std::size_t at = 0; at < packed.size(); at += piece) {
    const absl::Status status = (*scan)->Take(
        AsBytes(packed.substr(at, piece)),
        [&](absl::Span<const std::uint8_t> bytes) {
          text.append(bytes.begin(), bytes.end());
          return absl::OkStatus();
        },
        [](const FoundPoint&) { return absl::OkStatus(); });
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_EQ((*scan)->inflated(), text.size());
  return text;
}

TEST(InflateScanTest, InflatesWhateverIsGivenAtATime) {
  const std::string text = Prose(300'000, 1);
  for (const std::size_t piece : {1, 7, 4096, 1 << 20}) {
    EXPECT_EQ(Scan(Gzip(text), Packing::kGzip, piece).text, text);
    EXPECT_EQ(Scan(Zlib(text), Packing::kZlib, piece).text, text);
  }
}

// A byte stands for a thousand zeros, not all of which may fit into the output.
TEST(InflateScanTest, HoldsNothingBackOfWhatItTook) {
  const std::string packed = Gzip(std::string(200'000, '\0'), 9);
  for (std::size_t size = 1; size <= packed.size(); ++size) {
    const std::string_view start = std::string_view(packed).substr(0, size);
    EXPECT_EQ(StartOf(start, size).size(), StartOf(start, 1).size()) << size;
  }
}

TEST(InflateScanTest, FindsAPointInEachMegabyte) {
  for (const int level : {0, 1, 6, 9}) {
    for (const std::string& text : {Prose(4'000'000, 2), Noise(4'000'000, 3)}) {
      const Scanned scanned = Scan(Gzip(text, level));
      ASSERT_EQ(scanned.text, text);
      const auto& points = scanned.file.points;
      ASSERT_GE(points.size(), 4);
      EXPECT_EQ(points.front().offset, 0);
      EXPECT_EQ(points.front().bit, 0);
      EXPECT_EQ(points.front().window_bytes, 0);
      for (std::size_t i = 1; i < points.size(); ++i) {
        EXPECT_GT(points[i].offset, points[i - 1].offset);
        EXPECT_LE(points[i].offset - points[i - 1].offset, kMostApart);
        EXPECT_GT(points[i].window_bytes, 0);
      }
      EXPECT_LE(text.size() - points.back().offset, kMostApart);
      EXPECT_LE(points.size(), 8);
    }
  }
}

TEST(InflateScanTest, TakesMembersOneBehindTheOther) {
  std::string packed;
  std::string text;
  for (std::uint32_t i = 0; i < 100; ++i) {
    const std::string part = Prose(60'000, i);
    packed += Gzip(part);
    text += part;
  }
  packed += Gzip("");
  const Scanned scanned = Scan(packed, Packing::kGzip, 5000);
  EXPECT_EQ(scanned.text, text);
  ASSERT_GE(scanned.file.points.size(), 6);
  EXPECT_LE(scanned.file.points.size(), 12);
  // A member's begin needs none.
  for (const AccessPoint& point : scanned.file.points)
    EXPECT_EQ(point.window_bytes, 0);
}

TEST(InflateScanTest, TakesZerosBehindAll) {
  EXPECT_EQ(Scan(Gzip("abc") + std::string(10'000, '\0')).text, "abc");
  EXPECT_EQ(Scan(Zlib("abc") + std::string(3, '\0'), Packing::kZlib).text,
            "abc");
}

TEST(InflateScanTest, RefusesWhatLiesBehindAll) {
  constexpr char kReason[] = "lies behind the compressed data";
  EXPECT_THAT(ErrorOf(Gzip("abc") + "garbage"), HasSubstr(kReason));
  EXPECT_THAT(ErrorOf(Gzip("abc") + "\x1fgarbage"), HasSubstr(kReason));
  EXPECT_THAT(ErrorOf(Gzip("abc") + std::string(1000, '\0') + "x"),
              HasSubstr(kReason));
  EXPECT_THAT(ErrorOf(Zlib("abc") + Zlib("def"), Packing::kZlib),
              HasSubstr(kReason));
}

TEST(InflateScanTest, TellsOfEveryTruncation) {
  const std::string first = Gzip(Prose(5000, 1));
  const std::string packed = first + Gzip(Prose(300, 2));
  for (std::size_t size = 1; size < packed.size(); ++size) {
    if (size == first.size()) continue;  // that is a file
    EXPECT_THAT(ErrorOf(packed.substr(0, size)), HasSubstr("is truncated"))
        << size;
  }
  EXPECT_THAT(ErrorOf(""), HasSubstr("is empty"));
}

TEST(InflateScanTest, ChecksChecksumsAndLengths) {
  std::string packed = Gzip(Prose(5000, 1));
  packed[packed.size() - 8] ^= 1;
  EXPECT_THAT(ErrorOf(packed), HasSubstr("incorrect data check"));
  packed[packed.size() - 8] ^= 1;
  packed[packed.size() - 1] ^= 1;
  EXPECT_THAT(ErrorOf(packed), HasSubstr("incorrect length check"));
  std::string zlib = Zlib(Prose(5000, 1));
  zlib.back() ^= 1;
  EXPECT_THAT(ErrorOf(zlib, Packing::kZlib), HasSubstr("data check"));
}

// A thousand times its size takes no more memory, and has its points.
TEST(InflateScanTest, InflatesZerosToAThousandTimesTheirSize) {
  const std::string packed = Gzip(std::string(100 << 20, '\0'), 9);
  ASSERT_LT(packed.size(), 110'000);
  const Scanned scanned = Scan(packed);
  EXPECT_EQ(scanned.file.size, 100 << 20);
  // A block of zlib's has at most 16,383 symbols of 258 bytes each.
  EXPECT_GE(scanned.file.points.size(), 20);
}

TEST(InflateScanTest, EndsWithTheErrorOfACallback) {
  base::WorkingMemory memory(base::AmpleBudget(), "a scan");
  const auto scan = InflateScan::Create(Packing::kGzip, &memory);
  ASSERT_TRUE(scan.ok());
  const std::string packed = Gzip(Prose(500'000, 1));
  int calls = 0;
  const absl::Status status = (*scan)->Take(
      AsBytes(packed),
      [&](absl::Span<const std::uint8_t>) {
        return ++calls == 2 ? absl::CancelledError("enough") : absl::OkStatus();
      },
      [](const FoundPoint&) { return absl::OkStatus(); });
  EXPECT_EQ(status, absl::CancelledError("enough"));
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace forebay::storage::inflated

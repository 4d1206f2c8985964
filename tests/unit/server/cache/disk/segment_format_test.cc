#include "server/cache/disk/segment_format.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace forebay::cache::disk {
namespace {

constexpr std::uint64_t kSerial = 42;
constexpr std::uint64_t kBytes = 16 * kPageBytes;

std::vector<std::uint8_t> BytesOf(const std::string& text) {
  return {text.begin(), text.end()};
}

TEST(SegmentFormatTest, ItsNameIsItsSerial) {
  EXPECT_EQ(SegmentName(42), "segment-000000000000002a");
  for (const std::uint64_t serial :
       {std::uint64_t{0}, std::uint64_t{42}, UINT64_MAX}) {
    EXPECT_EQ(SerialOf(SegmentName(serial)), serial);
  }
  for (const char* name :
       {"", "segment-", "segment-2a", "segment-000000000000002A",
        "segment-000000000000002a~", "segment-00000000000000002a", "lock",
        "xsegment-000000000000002a", "segment-0000000000000-2a"}) {
    EXPECT_FALSE(SerialOf(name).has_value()) << name;
  }
}

TEST(SegmentFormatTest, AHeaderIsOfOneSegment) {
  std::vector<std::uint8_t> header =
      BytesOf(EncodeSegmentHeader(kSerial, kBytes));
  EXPECT_EQ(header.size(), kPageBytes);
  EXPECT_TRUE(IsSegmentHeader(header, kSerial, kBytes));
  EXPECT_FALSE(IsSegmentHeader(header, kSerial + 1, kBytes));
  EXPECT_FALSE(IsSegmentHeader(header, kSerial, kBytes + kPageBytes));
  for (std::size_t bit = 0; bit < std::size_t{32} * 8; ++bit) {
    header[bit / 8] ^= 1u << bit % 8;
    EXPECT_FALSE(IsSegmentHeader(header, kSerial, kBytes)) << bit;
    header[bit / 8] ^= 1u << bit % 8;
  }
  EXPECT_FALSE(IsSegmentHeader({}, kSerial, kBytes));
  for (const std::uint64_t odd :
       {std::uint64_t{0}, kPageBytes, kBytes + 1, 2 * kMaxSegmentBytes}) {
    EXPECT_FALSE(IsSegmentHeader(BytesOf(EncodeSegmentHeader(kSerial, odd)),
                                 kSerial, odd));
  }
}

TEST(SegmentFormatTest, AFooterGivesTheLocationsBack) {
  for (const std::size_t count : {0, 1, 254, 255, 256, 700}) {
    std::vector<RecordLocation> locations;
    for (std::size_t i = 0; i < count; ++i) {
      locations.push_back(
          {i * 977, static_cast<std::uint32_t>(4096 + 16 * i), 96});
    }
    const auto footer = BytesOf(EncodeFooter(kSerial, locations));
    EXPECT_EQ(footer.size(), FooterBytes(count));
    EXPECT_EQ(FooterBytesAt(absl::MakeConstSpan(footer).last(kPageBytes),
                            kSerial, kBytes),
              footer.size());
    const auto parsed = ParseFooter(footer, kSerial, kBytes);
    ASSERT_TRUE(parsed.has_value()) << count;
    ASSERT_EQ(parsed->size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ((*parsed)[i].fingerprint, i * 977);
      EXPECT_EQ((*parsed)[i].offset, 4096 + 16 * i);
      EXPECT_EQ((*parsed)[i].bytes, 96);
    }
    EXPECT_FALSE(ParseFooter(footer, kSerial + 1, kBytes).has_value());
  }
}

TEST(SegmentFormatTest, NoFlippedBitOfAFooterIsOverlooked) {
  std::vector<std::uint8_t> footer = BytesOf(
      EncodeFooter(kSerial, std::vector<RecordLocation>{{1, 4096, 96}}));
  const std::size_t used = 16 + 24;
  for (std::size_t bit = (footer.size() - used) * 8; bit < footer.size() * 8;
       ++bit) {
    footer[bit / 8] ^= 1u << bit % 8;
    EXPECT_FALSE(ParseFooter(footer, kSerial, kBytes).has_value()) << bit;
    footer[bit / 8] ^= 1u << bit % 8;
  }
  EXPECT_TRUE(ParseFooter(footer, kSerial, kBytes).has_value());
}

TEST(SegmentFormatTest, LocationsLieBetweenHeaderAndFooter) {
  const std::uint32_t end = kBytes - kPageBytes;
  for (const RecordLocation& location :
       std::vector<RecordLocation>{{1, 4080, 96},
                                   {1, 4097, 96},
                                   {1, 4096, 80},
                                   {1, 4096, 97},
                                   {1, end - 80, 96},
                                   {1, 4096, 0xffff'fff0}}) {
    const auto footer =
        BytesOf(EncodeFooter(kSerial, std::vector<RecordLocation>{location}));
    EXPECT_FALSE(ParseFooter(footer, kSerial, kBytes).has_value())
        << location.offset << " " << location.bytes;
  }
  const auto footer = BytesOf(
      EncodeFooter(kSerial, std::vector<RecordLocation>{{1, end - 96, 96}}));
  EXPECT_TRUE(ParseFooter(footer, kSerial, kBytes).has_value());
}

TEST(SegmentFormatTest, AFooterIsNeverLargerThanItsSegment) {
  const std::vector<RecordLocation> locations(3 * 256,
                                              RecordLocation{1, 4096, 96});
  const auto footer = BytesOf(EncodeFooter(kSerial, locations));
  EXPECT_FALSE(FooterBytesAt(absl::MakeConstSpan(footer).last(kPageBytes),
                             kSerial, footer.size())
                   .has_value());
  EXPECT_FALSE(
      ParseFooter(footer, kSerial, footer.size() - kPageBytes).has_value());
}

}  // namespace
}  // namespace forebay::cache::disk

#include "server/cache/disk/segment_format.h"

#include <string>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::cache::disk {
namespace {

constexpr std::uint64_t kSerial = 42;
constexpr std::uint64_t kBytes = 16 * kPageBytes;

std::vector<std::uint8_t> BytesOf(const std::string& text) {
  return {text.begin(), text.end()};
}

TEST_CASE("A segment file's name is its serial number",
          "[disk][segment_format]") {
  CHECK(SegmentName(42) == "segment-000000000000002a");
  for (const std::uint64_t serial :
       {std::uint64_t{0}, std::uint64_t{42}, UINT64_MAX}) {
    CHECK(SerialOf(SegmentName(serial)) == serial);
  }
  for (const char* name :
       {"", "segment-", "segment-2a", "segment-000000000000002A",
        "segment-000000000000002a~", "segment-00000000000000002a", "lock",
        "xsegment-000000000000002a", "segment-0000000000000-2a"}) {
    CAPTURE(name);
    CHECK_FALSE(SerialOf(name).has_value());
  }
}

TEST_CASE("A segment header is valid for one segment alone",
          "[disk][segment_format]") {
  std::vector<std::uint8_t> header =
      BytesOf(EncodeSegmentHeader(kSerial, kBytes));
  CHECK(header.size() == kPageBytes);
  CHECK(IsSegmentHeader(header, kSerial, kBytes));
  CHECK_FALSE(IsSegmentHeader(header, kSerial + 1, kBytes));
  CHECK_FALSE(IsSegmentHeader(header, kSerial, kBytes + kPageBytes));
  for (std::size_t bit = 0; bit < std::size_t{32} * 8; ++bit) {
    header[bit / 8] ^= 1u << bit % 8;
    CAPTURE(bit);
    CHECK_FALSE(IsSegmentHeader(header, kSerial, kBytes));
    header[bit / 8] ^= 1u << bit % 8;
  }
  CHECK_FALSE(IsSegmentHeader({}, kSerial, kBytes));
  for (const std::uint64_t odd :
       {std::uint64_t{0}, kPageBytes, kBytes + 1, 2 * kMaxSegmentBytes}) {
    CHECK_FALSE(IsSegmentHeader(BytesOf(EncodeSegmentHeader(kSerial, odd)),
                                kSerial, odd));
  }
}

TEST_CASE("A segment footer gives the record locations back",
          "[disk][segment_format]") {
  for (const std::size_t count : {0, 1, 254, 255, 256, 700}) {
    std::vector<RecordLocation> locations;
    for (std::size_t i = 0; i < count; ++i) {
      locations.push_back(
          {i * 977, static_cast<std::uint32_t>(4096 + 16 * i), 96});
    }
    const auto footer = BytesOf(EncodeFooter(kSerial, locations));
    CHECK(footer.size() == FooterBytes(count));
    CHECK(FooterBytesAt(absl::MakeConstSpan(footer).last(kPageBytes), kSerial,
                        kBytes) == footer.size());
    const auto parsed = ParseFooter(footer, kSerial, kBytes);
    CAPTURE(count);
    REQUIRE(parsed.has_value());
    REQUIRE(parsed->size() == count);
    for (std::size_t i = 0; i < count; ++i) {
      CHECK((*parsed)[i].fingerprint == i * 977);
      CHECK((*parsed)[i].offset == 4096 + 16 * i);
      CHECK((*parsed)[i].bytes == 96);
    }
    CHECK_FALSE(ParseFooter(footer, kSerial + 1, kBytes).has_value());
  }
}

TEST_CASE("The segment footer's parser overlooks no flipped bit",
          "[disk][segment_format]") {
  std::vector<std::uint8_t> footer = BytesOf(
      EncodeFooter(kSerial, std::vector<RecordLocation>{{1, 4096, 96}}));
  const std::size_t used = 16 + 24;
  for (std::size_t bit = (footer.size() - used) * 8; bit < footer.size() * 8;
       ++bit) {
    footer[bit / 8] ^= 1u << bit % 8;
    CAPTURE(bit);
    CHECK_FALSE(ParseFooter(footer, kSerial, kBytes).has_value());
    footer[bit / 8] ^= 1u << bit % 8;
  }
  CHECK(ParseFooter(footer, kSerial, kBytes).has_value());
}

TEST_CASE(
    "The record locations of a segment lie between its header and its footer",
    "[disk][segment_format]") {
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
    UNSCOPED_INFO(location.offset << " " << location.bytes);
    CHECK_FALSE(ParseFooter(footer, kSerial, kBytes).has_value());
  }
  const auto footer = BytesOf(
      EncodeFooter(kSerial, std::vector<RecordLocation>{{1, end - 96, 96}}));
  CHECK(ParseFooter(footer, kSerial, kBytes).has_value());
}

TEST_CASE("A segment footer is never larger than its segment",
          "[disk][segment_format]") {
  const std::vector<RecordLocation> locations(3 * 256,
                                              RecordLocation{1, 4096, 96});
  const auto footer = BytesOf(EncodeFooter(kSerial, locations));
  CHECK_FALSE(FooterBytesAt(absl::MakeConstSpan(footer).last(kPageBytes),
                            kSerial, footer.size())
                  .has_value());
  CHECK_FALSE(
      ParseFooter(footer, kSerial, footer.size() - kPageBytes).has_value());
}

}  // namespace
}  // namespace forebay::cache::disk

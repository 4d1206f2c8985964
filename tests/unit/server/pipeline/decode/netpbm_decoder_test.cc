#include "server/pipeline/decode/netpbm_decoder.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/server/pipeline/decode/golden_images.h"

namespace forebay::pipeline::decode {
namespace {

using File = std::vector<std::uint8_t>;

File FileOf(const std::string& header, std::size_t bytes) {
  File file(header.begin(), header.end());
  file.resize(file.size() + bytes);
  return file;
}

std::string RefusalOf(const File& file) {
  NetpbmDecoder decoder{DecodeLimits{}};
  const absl::Status status = DecodeTop(decoder, file);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  return std::string(status.message());
}

TEST(NetpbmDecoder, FindsAnyTruncationThoughOnlyTheTopIsAskedFor) {
  NetpbmDecoder decoder{DecodeLimits{}};
  ExpectTruncationsFound(decoder,
                         {"rgb8.ppm", "gray8.pgm", "bilevel.pbm", "rgb16.ppm"},
                         {.step = 1});
  EXPECT_EQ(RefusalOf(FileOf("P6\n2 2\n255\n", 11)),
            "is a truncated PPM image");
  EXPECT_EQ(RefusalOf(FileOf("P5\n2 2\n65535\n", 7)),
            "is a truncated PGM image");
  EXPECT_EQ(RefusalOf(FileOf("P4\n9 2\n", 3)), "is a truncated PBM image");
  EXPECT_EQ(RefusalOf(FileOf("P6\n2 2\n25", 0)), "is a truncated PPM image");
}

TEST(NetpbmDecoder, NamesWhatItDoesNotRead) {
  EXPECT_EQ(RefusalOf(GoldenFile("unread/text.ppm")),
            "is a PPM image in its text form, which is not read");
  EXPECT_EQ(RefusalOf(FileOf("P1\n1 1\n1\n", 0)),
            "is a PBM image in its text form, which is not read");
  EXPECT_EQ(RefusalOf(FileOf("P7\nWIDTH 1\n", 0)), "is not a PPM image");
  EXPECT_EQ(RefusalOf(FileOf("P66 1 1 255\n", 3)), "is not a PPM image");
}

TEST(NetpbmDecoder, RefusesDamagedHeaders) {
  for (const char* header :
       {"P6\n-1 1\n255\n", "P6\n1 x\n255\n", "P6\n1 1\n2.5\n",
        "P6\n00000000001 1\n255\n", "P6\n1 1\n\xff\n"}) {
    EXPECT_EQ(RefusalOf(FileOf(header, 99)),
              "is a PPM image whose header lacks a number")
        << header;
  }
  EXPECT_EQ(RefusalOf(FileOf("P5 0 1 255\n", 99)),
            "is a PGM image without pixels");
  EXPECT_EQ(RefusalOf(FileOf("P4 1 0\n", 99)), "is a PBM image without pixels");
  EXPECT_EQ(RefusalOf(FileOf("P5 1 1 0\n", 99)),
            "is a PGM image whose largest value is 0, not 1 to 65535");
  EXPECT_EQ(RefusalOf(FileOf("P6 1 1 65536\n", 99)),
            "is a PPM image whose largest value is 65536, not 1 to 65535");
}

TEST(NetpbmDecoder, KeepsTheLimits) {
  NetpbmDecoder decoder{DecodeLimits{.max_pixels = 6}};
  EXPECT_TRUE(DecodeTop(decoder, FileOf("P6 3 2 255\n", 18)).ok());
  absl::Status status = DecodeTop(decoder, FileOf("P6 9999999999 1 255\n", 9));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  status = DecodeTop(decoder, FileOf("P6 7 1 255\n", 21));
  EXPECT_EQ(std::string(status.message()),
            "is 7 x 1 pixels, more than the limit of 6 pixels");
  NetpbmDecoder narrow{DecodeLimits{.scratch_bytes = 500}};
  EXPECT_TRUE(DecodeTop(narrow, FileOf("P5 18 1 255\n", 18)).ok());
  EXPECT_EQ(DecodeTop(narrow, FileOf("P5 19 1 255\n", 19)).code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace forebay::pipeline::decode

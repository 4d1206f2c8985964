#include "server/dataset/array_record/codec.h"

#include <snappy.h>
#include <zstd.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/array_record/golden_files.h"

namespace forebay::dataset::array_record {
namespace {

using tests::HasCode;

// An empty text, compressed by Brotli.
constexpr std::string_view kBrotliNothing("\x06", 1);

std::string Text() {
  std::string text;
  while (text.size() < 30) text += "abc";
  return text;
}

std::string Zstd(const std::string& text) {
  std::string compressed(ZSTD_compressBound(text.size()), '\0');
  compressed.resize(ZSTD_compress(compressed.data(), compressed.size(),
                                  text.data(), text.size(), 3));
  return compressed;
}

std::string Snappy(const std::string& text) {
  std::string compressed;
  snappy::Compress(text.data(), text.size(), &compressed);
  return compressed;
}

// Returns the decompressed text, or "damaged" if there is an error.
std::string Decompressed(Codec codec, std::string_view compressed,
                         std::size_t length) {
  std::string text(length, '?');
  const absl::Status status =
      Decompress(codec, AsBytes(compressed),
                 {reinterpret_cast<std::uint8_t*>(text.data()), length});
  if (status.ok()) return text;
  CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
  return "damaged";
}

TEST_CASE("An ArrayRecord codec decompresses all of a stream and nothing else",
          "[array_record][codec]") {
  for (const auto& [codec, compressed] :
       std::vector<std::pair<Codec, std::string>>{
           {Codec::kZstd, Zstd(Text())}, {Codec::kSnappy, Snappy(Text())}}) {
    const int number = static_cast<int>(codec);
    CAPTURE(number);
    CHECK(Decompressed(codec, compressed, 30) == Text());
    CHECK(Decompressed(codec, compressed, 29) == "damaged");
    CHECK(Decompressed(codec, compressed, 31) == "damaged");
    CHECK(Decompressed(codec, compressed + "x", 30) == "damaged");
    CHECK(Decompressed(codec, "", 30) == "damaged");
    for (std::size_t end = 0; end < compressed.size(); ++end)
      CHECK(Decompressed(codec, compressed.substr(0, end), 30) == "damaged");
  }
}

TEST_CASE("An ArrayRecord codec decompresses a stream that holds nothing",
          "[array_record][codec]") {
  CHECK_THAT(Decompressed(Codec::kZstd, Zstd(""), 0), Catch::Equals(""));
  CHECK_THAT(Decompressed(Codec::kSnappy, Snappy(""), 0), Catch::Equals(""));
  CHECK_THAT(Decompressed(Codec::kBrotli, kBrotliNothing, 0),
             Catch::Equals(""));
  CHECK(Decompressed(Codec::kBrotli, kBrotliNothing, 1) == "damaged");
  CHECK(Decompressed(Codec::kBrotli, "", 0) == "damaged");
}

TEST_CASE("The ArrayRecord format knows four codecs", "[array_record][codec]") {
  int known = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto codec = CodecOf(static_cast<std::uint8_t>(byte));
    if (codec.ok()) {
      ++known;
    } else {
      CHECK_THAT(codec, HasCode(absl::StatusCode::kUnimplemented));
    }
  }
  CHECK(known == 4);
}

}  // namespace
}  // namespace forebay::dataset::array_record

#include "server/dataset/array_record/blocks.h"

#include <string>

#include "tests/catch/catch.h"
#include "tests/unit/server/dataset/array_record/golden_files.h"

namespace forebay::dataset::array_record {
namespace {

// Returns three blocks whose headers consist of 'h', and whose other bytes are
// letters.
std::string ThreeBlocks() {
  std::string file;
  for (int block = 0; block < 3; ++block) {
    file.append(kBlockHeaderBytes, 'h');
    while (file.size() % kBlockBytes != 0)
      file += static_cast<char>('A' + file.size() % 7);
  }
  return file;
}

std::string WithoutHeaders(std::string file, std::uint64_t begin,
                           std::uint64_t end) {
  std::string plain;
  for (std::uint64_t i = begin; i < end; ++i) {
    if (i % kBlockBytes >= kBlockHeaderBytes) plain += file[i];
  }
  return plain;
}

TEST_CASE("ArrayRecord blocks step over their headers",
          "[array_record][blocks]") {
  const std::string file = ThreeBlocks();
  for (const std::uint64_t begin :
       {0ul, 25ul, 64ul, kBlockBytes - 30, kBlockBytes - 1, kBlockBytes,
        kBlockBytes + 25}) {
    REQUIRE(CanBeginChunk(begin));
    for (const std::uint64_t end :
         {begin, begin + 1, begin + 24, begin + 25, begin + 60, 2 * kBlockBytes,
          2 * kBlockBytes + 1, 2 * kBlockBytes + 24, 2 * kBlockBytes + 25,
          3 * kBlockBytes}) {
      const Blocks blocks(begin, AsBytes(file).subspan(begin, end - begin));
      const std::string plain = WithoutHeaders(file, begin, end);
      UNSCOPED_INFO(begin << " to " << end);
      REQUIRE(blocks.size() == plain.size());
      std::string copy(plain.size(), 'x');
      blocks.Copy(0,
                  {reinterpret_cast<std::uint8_t*>(copy.data()), copy.size()});
      UNSCOPED_INFO(begin << " to " << end);
      CHECK(copy == plain);
    }
  }
}

TEST_CASE("ArrayRecord blocks give pieces that no header interrupts",
          "[array_record][blocks]") {
  const std::string file = ThreeBlocks();
  const Blocks blocks(64, AsBytes(file).subspan(64));
  const std::uint64_t left = kBlockBytes - 64;
  const auto piece = [&](std::uint64_t begin, std::uint64_t length) {
    const auto found = blocks.Piece(begin, length);
    return found.has_value() ? std::string(AsText(*found)) : "none";
  };
  CHECK(piece(0, left) == file.substr(64, left));
  CHECK(piece(0, left + 1) == "none");
  CHECK(piece(left - 1, 2) == "none");
  CHECK(piece(left - 1, 1) == file.substr(kBlockBytes - 1, 1));
  CHECK(piece(left, 9) == file.substr(kBlockBytes + kBlockHeaderBytes, 9));
  CHECK_THAT(piece(left, 0), Catch::Equals(""));
  CHECK_THAT(piece(blocks.size(), 0), Catch::Equals(""));
}

TEST_CASE("No ArrayRecord chunk begins in a block header or right behind it",
          "[array_record][blocks]") {
  for (std::uint64_t in_block = 1; in_block <= kBlockHeaderBytes; ++in_block)
    CHECK_FALSE(CanBeginChunk(5 * kBlockBytes + in_block));
  CHECK(CanBeginChunk(5 * kBlockBytes));
  CHECK(CanBeginChunk(5 * kBlockBytes + kBlockHeaderBytes + 1));
}

}  // namespace
}  // namespace forebay::dataset::array_record

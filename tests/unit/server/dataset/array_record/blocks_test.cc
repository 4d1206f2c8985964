#include "server/dataset/array_record/blocks.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/unit/server/dataset/array_record/golden_files.h"

namespace forebay::dataset::array_record {
namespace {

// Three blocks whose headers are 'h', and the rest letters.
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

TEST(BlocksTest, StepsOverHeaders) {
  const std::string file = ThreeBlocks();
  for (const std::uint64_t begin :
       {0ul, 25ul, 64ul, kBlockBytes - 30, kBlockBytes - 1, kBlockBytes,
        kBlockBytes + 25}) {
    ASSERT_TRUE(CanBeginChunk(begin));
    for (const std::uint64_t end :
         {begin, begin + 1, begin + 24, begin + 25, begin + 60, 2 * kBlockBytes,
          2 * kBlockBytes + 1, 2 * kBlockBytes + 24, 2 * kBlockBytes + 25,
          3 * kBlockBytes}) {
      const Blocks blocks(begin, AsBytes(file).subspan(begin, end - begin));
      const std::string plain = WithoutHeaders(file, begin, end);
      ASSERT_EQ(blocks.size(), plain.size()) << begin << " to " << end;
      std::string copy(plain.size(), 'x');
      blocks.Copy(0,
                  {reinterpret_cast<std::uint8_t*>(copy.data()), copy.size()});
      EXPECT_EQ(copy, plain) << begin << " to " << end;
    }
  }
}

TEST(BlocksTest, GivesPiecesThatNoHeaderInterrupts) {
  const std::string file = ThreeBlocks();
  const Blocks blocks(64, AsBytes(file).subspan(64));
  const std::uint64_t left = kBlockBytes - 64;
  const auto piece = [&](std::uint64_t begin, std::uint64_t length) {
    const auto found = blocks.Piece(begin, length);
    return found.has_value() ? std::string(AsText(*found)) : "none";
  };
  EXPECT_EQ(piece(0, left), file.substr(64, left));
  EXPECT_EQ(piece(0, left + 1), "none");
  EXPECT_EQ(piece(left - 1, 2), "none");
  EXPECT_EQ(piece(left - 1, 1), file.substr(kBlockBytes - 1, 1));
  EXPECT_EQ(piece(left, 9), file.substr(kBlockBytes + kBlockHeaderBytes, 9));
  EXPECT_EQ(piece(left, 0), "");
  EXPECT_EQ(piece(blocks.size(), 0), "");
}

TEST(BlocksTest, NoChunkBeginsInAHeaderOrRightBehindIt) {
  for (std::uint64_t in_block = 1; in_block <= kBlockHeaderBytes; ++in_block)
    EXPECT_FALSE(CanBeginChunk(5 * kBlockBytes + in_block));
  EXPECT_TRUE(CanBeginChunk(5 * kBlockBytes));
  EXPECT_TRUE(CanBeginChunk(5 * kBlockBytes + kBlockHeaderBytes + 1));
}

}  // namespace
}  // namespace forebay::dataset::array_record

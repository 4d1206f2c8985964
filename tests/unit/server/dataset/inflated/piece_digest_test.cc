#include "server/dataset/inflated/piece_digest.h"

#include <string>

#include "gtest/gtest.h"
#include "server/base/crc32c.h"
#include "tests/unit/server/storage/inflated/packed_files.h"

namespace forebay::dataset::inflated {
namespace {

using storage::inflated::AsBytes;
using storage::inflated::Noise;

std::uint32_t ByReads(const std::string& file, std::uint64_t* read,
                      bool whole = false) {
  PieceParser parser(file.size(), whole);
  *read = 0;
  while (const auto next = parser.next_read()) {
    *read += next->length;
    EXPECT_TRUE(
        parser.Take(AsBytes(file).subspan(next->offset, next->length)).ok());
  }
  return parser.crc32c();
}

std::uint32_t OfAll(const std::string& file, std::size_t piece) {
  PieceDigest digest(file.size());
  for (std::size_t at = 0; at < file.size(); at += piece)
    digest.Take(at, AsBytes(file).subspan(at, piece));
  EXPECT_FALSE(digest.wanted().has_value());
  return digest.crc32c();
}

TEST(PieceDigestTest, IsTheSameHoweverTheFileIsRead) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{4097},
        std::size_t{8000}, std::size_t{1} << 20, (std::size_t{1} << 20) + 5,
        (std::size_t{1} << 20) + 4096, (std::size_t{1} << 20) + 6000,
        std::size_t{3'500'000}}) {
    const std::string file = Noise(size, 1);
    std::uint64_t read = 0;
    const std::uint32_t crc32c = ByReads(file, &read);
    EXPECT_LE(read, 5 * 4096);
    for (const std::size_t piece : {1, 4095, 100'000, 1 << 22}) {
      if (piece == 1 && size > 10'000) continue;
      EXPECT_EQ(OfAll(file, piece), crc32c) << size << ' ' << piece;
    }
  }
}

TEST(PieceDigestTest, MayBeOfAllOfAFile) {
  for (const std::size_t size : {0, 1, 1 << 20, (1 << 20) + 5, 3'500'000}) {
    const std::string file = Noise(size, 1);
    std::uint64_t read = 0;
    EXPECT_EQ(ByReads(file, &read, /*whole=*/true), base::Crc32c(AsBytes(file)))
        << size;
    EXPECT_LE(read, size + (1 << 20));
    PieceDigest digest(size, /*whole=*/true);
    for (std::size_t at = 0; at < size; at += 100'000)
      digest.Take(at, AsBytes(file).subspan(at, 100'000));
    EXPECT_EQ(digest.crc32c(), base::Crc32c(AsBytes(file))) << size;
  }
}

TEST(PieceDigestTest, TellsOtherFilesApart) {
  std::string file = Noise(3'500'000, 1);
  std::uint64_t read = 0;
  const std::uint32_t crc32c = ByReads(file, &read);
  for (const std::size_t at : {std::size_t{0}, std::size_t{1} << 20,
                               file.size() - 1, file.size() - 4096}) {
    file[at] ^= 1;
    EXPECT_NE(ByReads(file, &read), crc32c) << at;
    file[at] ^= 1;
  }
}

}  // namespace
}  // namespace forebay::dataset::inflated

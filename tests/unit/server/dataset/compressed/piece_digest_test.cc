#include "server/dataset/compressed/piece_digest.h"

#include <string>

#include "server/base/crc32c.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/compressed/compressed_files.h"

namespace forebay::dataset::compressed {
namespace {

using tests::IsOk;

using storage::compressed::AsBytes;
using storage::compressed::Noise;

std::uint32_t ByReads(const std::string& file, std::uint64_t* read,
                      bool whole = false) {
  PieceParser parser(file.size(), whole);
  *read = 0;
  while (const auto next = parser.next_read()) {
    *read += next->length;
    CHECK_THAT(parser.Take(AsBytes(file).subspan(next->offset, next->length)),
               IsOk());
  }
  return parser.crc32c();
}

std::uint32_t OfAll(const std::string& file, std::size_t piece) {
  PieceDigest digest(file.size());
  for (std::size_t at = 0; at < file.size(); at += piece)
    digest.Take(at, AsBytes(file).subspan(at, piece));
  CHECK_FALSE(digest.wanted().has_value());
  return digest.crc32c();
}

TEST_CASE("A piece digest is the same however the file is read",
          "[compressed][piece_digest]") {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{4097},
        std::size_t{8000}, std::size_t{1} << 20, (std::size_t{1} << 20) + 5,
        (std::size_t{1} << 20) + 4096, (std::size_t{1} << 20) + 6000,
        std::size_t{3'500'000}}) {
    const std::string file = Noise(size, 1);
    std::uint64_t read = 0;
    const std::uint32_t crc32c = ByReads(file, &read);
    CHECK(read <= 5 * 4096);
    for (const std::size_t piece : {1, 4095, 100'000, 1 << 22}) {
      if (piece == 1 && size > 10'000) continue;
      UNSCOPED_INFO(size << ' ' << piece);
      CHECK(OfAll(file, piece) == crc32c);
    }
  }
}

TEST_CASE("A piece digest may be of all of a file",
          "[compressed][piece_digest]") {
  for (const std::size_t size : {0, 1, 1 << 20, (1 << 20) + 5, 3'500'000}) {
    const std::string file = Noise(size, 1);
    std::uint64_t read = 0;
    CAPTURE(size);
    CHECK(ByReads(file, &read, /*whole=*/true) == base::Crc32c(AsBytes(file)));
    CHECK(read <= size + (1 << 20));
    PieceDigest digest(size, /*whole=*/true);
    for (std::size_t at = 0; at < size; at += 100'000)
      digest.Take(at, AsBytes(file).subspan(at, 100'000));
    CHECK(digest.crc32c() == base::Crc32c(AsBytes(file)));
  }
}

TEST_CASE("A piece digest tells other files apart",
          "[compressed][piece_digest]") {
  std::string file = Noise(3'500'000, 1);
  std::uint64_t read = 0;
  const std::uint32_t crc32c = ByReads(file, &read);
  for (const std::size_t at : {std::size_t{0}, std::size_t{1} << 20,
                               file.size() - 1, file.size() - 4096}) {
    file[at] ^= 1;
    CAPTURE(at);
    CHECK(ByReads(file, &read) != crc32c);
    file[at] ^= 1;
  }
}

}  // namespace
}  // namespace forebay::dataset::compressed

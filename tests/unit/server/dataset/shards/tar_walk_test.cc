#include "server/dataset/shards/tar_walk.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/base/status.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/shards/golden_shards.h"

namespace forebay::dataset::shards {
namespace {

using tests::Contains;
using tests::ElementsAre;
using tests::HasCode;
using tests::IsOk;

// Returns the files of `archive`. Each piece has `extra` bytes more than the
// wanted ones.
absl::StatusOr<std::vector<TarMember>> Files(const std::string& archive,
                                             std::uint64_t extra = 0) {
  FOREBAY_ASSIGN_OR_RETURN(TarWalk walk,
                           TarWalk::Create("some.tar", archive.size()));
  std::vector<TarMember> files;
  while (const auto wanted = walk.wanted()) {
    CHECK(wanted->offset + wanted->length <= archive.size());
    const auto piece = std::string_view(archive).substr(wanted->offset,
                                                        wanted->length + extra);
    FOREBAY_RETURN_IF_ERROR(walk.Parse(wanted->offset, AsBytes(piece), &files));
  }
  std::erase_if(files, [](const TarMember& file) { return file.is_link; });
  return files;
}

std::vector<std::string> Names(const std::string& archive) {
  const auto files = Files(archive);
  CHECK_THAT(files, IsOk());
  std::vector<std::string> names;
  if (!files.ok()) return names;
  for (const TarMember& file : *files) names.push_back(file.name);
  return names;
}

void ExpectError(const std::string& archive, absl::StatusCode code,
                 std::string_view reason) {
  const absl::Status status = Files(archive).status();
  CHECK_THAT(status, HasCode(code));
  CHECK_THAT(status.message(), Contains(std::string(reason)));
  CHECK_THAT(status.message(), Contains("some.tar: "));
}

TEST_CASE("A tar walk finds the same files in pieces of any length",
          "[shards][tar_walk]") {
  for (const GoldenShard& shard : GoldenShards()) {
    const std::string archive = GoldenFile(shard.name);
    const auto expected = Files(archive);
    UNSCOPED_INFO(shard.name << ": " << expected.status());
    REQUIRE_THAT(expected, IsOk());
    for (const std::uint64_t extra : {1, 511, 512, 1500, 4096, 1 << 20}) {
      const auto files = Files(archive, extra);
      REQUIRE_THAT(files, IsOk());
      CAPTURE(shard.name);
      REQUIRE(files->size() == expected->size());
      for (std::size_t i = 0; i < files->size(); ++i) {
        CHECK((*files)[i].name == (*expected)[i].name);
        CHECK((*files)[i].offset == (*expected)[i].offset);
        CHECK((*files)[i].length == (*expected)[i].length);
      }
    }
  }
}

TEST_CASE("A tar walk finds only files", "[shards][tar_walk]") {
  CHECK_THAT(Names(GoldenFile("gnu_v7.tar")),
             ElementsAre("a/0001.cls", "a/0001.jpg", "a/0001.left.png",
                         "a/0002.cls", "a/0002.jpg", "a/0002.left.png"));
}

// GNU tar stores times where POSIX stores the name's prefix.
TEST_CASE("A tar walk does not take the times of GNU tar for names",
          "[shards][tar_walk]") {
  CHECK(Names(GoldenFile("gnu_incremental.tar")) ==
        Names(GoldenFile("gnu_gnu.tar")));
}

TEST_CASE("A tar walk refuses sparse files", "[shards][tar_walk]") {
  for (const std::string name : {"0.0", "0.1", "1.0", "gnu"}) {
    ExpectError(GoldenFile("sparse_" + name + ".tar"),
                absl::StatusCode::kUnimplemented, "is sparse");
  }
  ExpectError(GoldenFile("sparse_gnu.tar"), absl::StatusCode::kUnimplemented,
              "at byte 0: the file sparse.npy is sparse");
}

TEST_CASE("A tar walk refuses compressed archives", "[shards][tar_walk]") {
  ExpectError(GoldenFile("compressed.tar"), absl::StatusCode::kUnimplemented,
              "compressed (gzip)");
}

TEST_CASE("A tar walk refuses what is not an archive", "[shards][tar_walk]") {
  ExpectError("", absl::StatusCode::kDataLoss, "has only 0 bytes");
  ExpectError("hello", absl::StatusCode::kDataLoss, "has only 5 bytes");
  ExpectError(std::string(10240, 'x'), absl::StatusCode::kDataLoss,
              "at byte 0: there is no tar header");
  // Garbage in the middle does not count as the archive's end.
  std::string archive = GoldenFile("webdataset.tar");
  archive.replace(9216 - 512, 512, 512, 'x');
  ExpectError(archive, absl::StatusCode::kDataLoss,
              "at byte 8704: there is no tar header");
}

TEST_CASE("A tar walk ignores what lies behind the end of the archive",
          "[shards][tar_walk]") {
  const std::string archive = GoldenFile("gnu_pax.tar");
  CHECK(Names(archive + std::string(1000, 'x')) == Names(archive));
  CHECK(Names(archive + archive) == Names(archive));
}

TEST_CASE("A tar walk notices every truncation within a file",
          "[shards][tar_walk]") {
  for (const char* name : {"gnu_pax.tar", "gnu_gnu.tar", "unended.tar"}) {
    const std::string archive = GoldenFile(name);
    const auto all = Files(archive);
    REQUIRE_THAT(all, IsOk());
    // The loop ends after the padded data of the last file.
    const std::uint64_t end =
        all->back().offset + (all->back().length + 511) / 512 * 512;
    for (std::size_t length = 0; length < end; length += 64) {
      const auto files = Files(archive.substr(0, length));
      if (!files.ok()) {
        CHECK_THAT(files, HasCode(absl::StatusCode::kDataLoss));
        continue;
      }
      // A truncation goes unnoticed only exactly between two members.
      CAPTURE(name);
      CHECK(length % kTarBlock == 0u);
      CHECK(files->size() < all->size());
      for (const TarMember& file : *files) {
        CHECK(file.offset + file.length <= length);
      }
    }
  }
}

TEST_CASE("A tar walk refuses lengths beyond the end of the archive",
          "[shards][tar_walk]") {
  for (const char* name : {"large_gnu.header", "large_pax.header"}) {
    ExpectError(GoldenFile(name) + std::string(1024, '\0'),
                absl::StatusCode::kDataLoss,
                "large.jpg has 10737418240 bytes, of which 1024 are there");
  }
}

// The archive is 20 GiB long, but only its headers exist.
TEST_CASE("A tar walk steps over files of any size", "[shards][tar_walk]") {
  constexpr std::uint64_t kLarge = std::uint64_t{10} << 30;
  for (const char* name : {"large_gnu.header", "large_pax.header"}) {
    const std::string header = GoldenFile(name);
    const std::uint64_t stride = header.size() + kLarge;
    auto walk = TarWalk::Create("some.tar", 2 * stride + kTarBlock);
    REQUIRE_THAT(walk, IsOk());
    std::vector<TarMember> files;
    std::uint64_t seen = 0;
    while (const auto wanted = walk->wanted()) {
      const std::string piece =
          wanted->offset < 2 * stride
              ? header.substr(wanted->offset % stride, wanted->length)
              : std::string(kTarBlock, '\0');
      REQUIRE(piece.size() == wanted->length);
      REQUIRE_THAT(walk->Parse(wanted->offset, AsBytes(piece), &files), IsOk());
      seen += piece.size();
    }
    CAPTURE(name);
    REQUIRE(files.size() == 2u);
    CHECK(files[1].name == "large.jpg");
    CHECK(files[1].offset == stride + header.size());
    CHECK(files[1].length == kLarge);
    CHECK(seen <= 2 * header.size() + kTarBlock);
  }
}

}  // namespace
}  // namespace forebay::dataset::shards

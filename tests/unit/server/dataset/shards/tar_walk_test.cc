#include "server/dataset/shards/tar_walk.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/status.h"
#include "tests/unit/server/dataset/shards/golden_shards.h"

namespace forebay::dataset::shards {
namespace {

using testing::HasSubstr;

// Returns the files of `archive`, given in pieces `extra` bytes longer than
// those wanted.
absl::StatusOr<std::vector<TarMember>> Files(const std::string& archive,
                                             std::uint64_t extra = 0) {
  FOREBAY_ASSIGN_OR_RETURN(TarWalk walk,
                           TarWalk::Create("some.tar", archive.size()));
  std::vector<TarMember> files;
  while (const auto wanted = walk.wanted()) {
    EXPECT_LE(wanted->offset + wanted->length, archive.size());
    const auto piece = std::string_view(archive).substr(wanted->offset,
                                                        wanted->length + extra);
    FOREBAY_RETURN_IF_ERROR(walk.See(wanted->offset, AsBytes(piece), &files));
  }
  std::erase_if(files, [](const TarMember& file) { return file.is_link; });
  return files;
}

std::vector<std::string> Names(const std::string& archive) {
  const auto files = Files(archive);
  EXPECT_TRUE(files.ok()) << files.status();
  std::vector<std::string> names;
  if (!files.ok()) return names;
  for (const TarMember& file : *files) names.push_back(file.name);
  return names;
}

void ExpectError(const std::string& archive, absl::StatusCode code,
                 std::string_view reason) {
  const absl::Status status = Files(archive).status();
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(reason)));
  EXPECT_THAT(std::string(status.message()), HasSubstr("some.tar: "));
}

TEST(TarWalkTest, PiecesOfAnyLengthShowTheSame) {
  for (const GoldenShard& shard : GoldenShards()) {
    const std::string archive = GoldenFile(shard.name);
    const auto expected = Files(archive);
    ASSERT_TRUE(expected.ok()) << shard.name << ": " << expected.status();
    for (const std::uint64_t extra : {1, 511, 512, 1500, 4096, 1 << 20}) {
      const auto files = Files(archive, extra);
      ASSERT_TRUE(files.ok()) << files.status();
      ASSERT_EQ(files->size(), expected->size()) << shard.name;
      for (std::size_t i = 0; i < files->size(); ++i) {
        EXPECT_EQ((*files)[i].name, (*expected)[i].name);
        EXPECT_EQ((*files)[i].offset, (*expected)[i].offset);
        EXPECT_EQ((*files)[i].length, (*expected)[i].length);
      }
    }
  }
}

TEST(TarWalkTest, FindsFilesAlone) {
  EXPECT_THAT(
      Names(GoldenFile("gnu_v7.tar")),
      testing::ElementsAre("a/0001.cls", "a/0001.jpg", "a/0001.left.png",
                           "a/0002.cls", "a/0002.jpg", "a/0002.left.png"));
}

// GNU tar keeps times where POSIX has the beginning of a name.
TEST(TarWalkTest, TimesAreNoNames) {
  EXPECT_EQ(Names(GoldenFile("gnu_incremental.tar")),
            Names(GoldenFile("gnu_gnu.tar")));
}

TEST(TarWalkTest, RefusesSparseFiles) {
  for (const std::string name : {"0.0", "0.1", "1.0", "gnu"}) {
    ExpectError(GoldenFile("sparse_" + name + ".tar"),
                absl::StatusCode::kUnimplemented, "is sparse");
  }
  ExpectError(GoldenFile("sparse_gnu.tar"), absl::StatusCode::kUnimplemented,
              "at byte 0: the file sparse.npy is sparse");
}

TEST(TarWalkTest, RefusesCompressedArchives) {
  ExpectError(GoldenFile("compressed.tar"), absl::StatusCode::kUnimplemented,
              "compressed (gzip)");
}

TEST(TarWalkTest, RefusesWhatIsNoArchive) {
  ExpectError("", absl::StatusCode::kDataLoss, "has only 0 bytes");
  ExpectError("hello", absl::StatusCode::kDataLoss, "has only 5 bytes");
  ExpectError(std::string(10240, 'x'), absl::StatusCode::kDataLoss,
              "at byte 0: there is no tar header");
  // Garbage in the midst is not the end.
  std::string archive = GoldenFile("webdataset.tar");
  archive.replace(9216 - 512, 512, 512, 'x');
  ExpectError(archive, absl::StatusCode::kDataLoss,
              "at byte 8704: there is no tar header");
}

TEST(TarWalkTest, IgnoresWhatLiesBehindTheEnd) {
  const std::string archive = GoldenFile("gnu_pax.tar");
  EXPECT_EQ(Names(archive + std::string(1000, 'x')), Names(archive));
  EXPECT_EQ(Names(archive + archive), Names(archive));
}

TEST(TarWalkTest, EveryTruncationIsNoticed) {
  for (const char* name : {"gnu_pax.tar", "gnu_gnu.tar", "unended.tar"}) {
    const std::string archive = GoldenFile(name);
    const auto all = Files(archive);
    ASSERT_TRUE(all.ok()) << all.status();
    // Behind the last file's padded data.
    const std::uint64_t end =
        all->back().offset + (all->back().length + 511) / 512 * 512;
    for (std::size_t length = 0; length < end; length += 64) {
      const auto files = Files(archive.substr(0, length));
      if (!files.ok()) {
        EXPECT_EQ(files.status().code(), absl::StatusCode::kDataLoss);
        continue;
      }
      // Unless it was cut right between two members.
      EXPECT_EQ(length % kTarBlock, 0u) << name;
      EXPECT_LT(files->size(), all->size()) << name;
      for (const TarMember& file : *files) {
        EXPECT_LE(file.offset + file.length, length);
      }
    }
  }
}

TEST(TarWalkTest, LengthsBeyondTheEndAreRefused) {
  for (const char* name : {"large_gnu.header", "large_pax.header"}) {
    ExpectError(GoldenFile(name) + std::string(1024, '\0'),
                absl::StatusCode::kDataLoss,
                "large.jpg has 10737418240 bytes, of which 1024 are there");
  }
}

// An archive of 20 GiB of which only the headers exist.
TEST(TarWalkTest, StepsOverFilesOfAnySize) {
  constexpr std::uint64_t kLarge = std::uint64_t{10} << 30;
  for (const char* name : {"large_gnu.header", "large_pax.header"}) {
    const std::string header = GoldenFile(name);
    const std::uint64_t stride = header.size() + kLarge;
    auto walk = TarWalk::Create("some.tar", 2 * stride + kTarBlock);
    ASSERT_TRUE(walk.ok()) << walk.status();
    std::vector<TarMember> files;
    std::uint64_t seen = 0;
    while (const auto wanted = walk->wanted()) {
      const std::string piece =
          wanted->offset < 2 * stride
              ? header.substr(wanted->offset % stride, wanted->length)
              : std::string(kTarBlock, '\0');
      ASSERT_EQ(piece.size(), wanted->length);
      ASSERT_TRUE(walk->See(wanted->offset, AsBytes(piece), &files).ok());
      seen += piece.size();
    }
    ASSERT_EQ(files.size(), 2u) << name;
    EXPECT_EQ(files[1].name, "large.jpg");
    EXPECT_EQ(files[1].offset, stride + header.size());
    EXPECT_EQ(files[1].length, kLarge);
    EXPECT_LE(seen, 2 * header.size() + kTarBlock);
  }
}

}  // namespace
}  // namespace forebay::dataset::shards

#include "server/dataset/zip/zip_index_format.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/dataset/index_file.h"
#include "server/dataset/zip/zip_index_builder.h"
#include "server/dataset/zip/zip_parser.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/zip/golden_archives.h"
#include "tests/unit/server/dataset/zip/packed_archive.h"

namespace forebay::dataset::zip {
namespace {

using testing::HasSubstr;

std::shared_ptr<const ZipIndex> Index(const std::string& folder = "all") {
  const std::string archive = PackedArchive(
      {{"all/cat/1.png", "one"},
       {"all/dog/2.png", std::string(500, '2'), ZipMethod::kDeflated}});
  base::WorkingMemory memory(base::AmpleBudget(), "an index");
  std::vector<ArchiveContents> contents(2);
  std::vector<storage::ListedObject> archives = {
      {"a.zip", {archive.size(), 7, {1, 2}}}, {"b.zip", {22, 8, {3, 4}}}};
  auto parser =
      *ZipParser::Create(archives[0], ZipParser::Keep::kFiles, &memory);
  while (const auto read = parser->next_read()) {
    EXPECT_TRUE(
        parser->Take(AsBytes(archive).subspan(read->offset, read->length))
            .ok());
  }
  contents[0] = parser->TakeContents();
  return *BuildZipIndex("it", folder, archives, std::move(contents), memory);
}

absl::StatusOr<std::shared_ptr<const ZipIndex>> Decode(std::string_view bytes) {
  base::WorkingMemory memory(base::AmpleBudget(), "an index");
  IndexFileReader file(AsBytes(bytes));
  return DecodeZipIndex(file, memory);
}

TEST(ZipIndexFormatTest, AnIndexIsTheSameAfterwards) {
  const auto index = Index();
  const auto again = Decode(EncodeZipIndex(*index));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->version(), index->version());
  EXPECT_EQ((*again)->longest_extent(), index->longest_extent());
  ASSERT_EQ((*again)->size(), 2);
  for (std::uint64_t id = 0; id < 2; ++id) {
    EXPECT_EQ((*again)->MemberOf(id), index->MemberOf(id));
    EXPECT_EQ((*again)->ExtentOf(id).length, index->ExtentOf(id).length);
  }
  EXPECT_EQ((*again)->MemberOf(1).name, "all/dog/2.png");
  EXPECT_EQ((*again)->MemberOf(1).length, 500);
  EXPECT_EQ((*again)->MemberOf(1).method, ZipMethod::kDeflated);
  EXPECT_TRUE((*again)->IsOf(std::vector<storage::ListedObject>{
      index->ArchiveAt(0), index->ArchiveAt(1)}));
  EXPECT_EQ((*again)->ArchiveAt(1).version.revision.ctime_nanos, 4);
}

TEST(ZipIndexFormatTest, EveryTruncationIsNoticed) {
  const std::string bytes = EncodeZipIndex(*Index());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_TRUE(absl::IsDataLoss(Decode(bytes.substr(0, size)).status()));
  }
}

// Changes the bytes at `offset` behind the header, with a fitting checksum.
template <typename Number>
std::string Changed(std::size_t offset, Number number) {
  std::string bytes = EncodeZipIndex(*Index());
  bytes.resize(bytes.size() - kIndexFileChecksumBytes);
  std::memcpy(bytes.data() + 64 + offset, &number, sizeof(number));
  SealIndexFile(bytes);
  return std::string(Decode(bytes).status().message());
}

TEST(ZipIndexFormatTest, PartsThatDoNotFitAreNoticed) {
  constexpr std::size_t kArchive = sizeof(ArchiveRecord);
  const auto u64 = [](std::uint64_t number) { return number; };
  EXPECT_THAT(Changed(0, u64(100)), HasSubstr("path of archive 0"));
  EXPECT_THAT(Changed(8, u64(0)), HasSubstr("path of archive 0"));
  EXPECT_THAT(Changed(16, u64(1)), HasSubstr("position of archive 0"));
  EXPECT_THAT(Changed(24, ~u64(0)), HasSubstr("position of archive 0"));
  EXPECT_THAT(Changed(24, u64(10)), HasSubstr("position of archive 1"));
  // The group of both.
  EXPECT_THAT(Changed(2 * kArchive, ~u64(0)), HasSubstr("place of image 0"));
  EXPECT_THAT(Changed(2 * kArchive, u64(1) << 40),
              HasSubstr("extent of image 0"));
  // The first image, stored, as if it were deflated, and the second likewise.
  EXPECT_THAT(Changed(2 * kArchive + 8, std::uint32_t{1}), testing::IsEmpty());
  EXPECT_THAT(Changed(2 * kArchive + 12, std::uint32_t{0}),
              HasSubstr("length of image 1"));
}

}  // namespace
}  // namespace forebay::dataset::zip

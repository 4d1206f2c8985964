#include "server/dataset/zip/zip_index_format.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "server/dataset/index_file.h"
#include "server/dataset/zip/zip_index_builder.h"
#include "server/dataset/zip/zip_parser.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/zip/compressed_archive.h"
#include "tests/unit/server/dataset/zip/golden_archives.h"

namespace forebay::dataset::zip {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsEmpty;
using tests::IsOk;

std::shared_ptr<const ZipIndex> Index(const std::string& folder = "all",
                                      const std::string& second = "b.zip") {
  const std::string archive = CompressedArchive(
      {{"all/cat/1.png", "one"},
       {"all/dog/2.png", std::string(500, '2'), ZipMethod::kDeflated}});
  base::WorkingMemory memory(base::AmpleBudget(), "an index");
  std::vector<ArchiveContents> contents(2);
  std::vector<storage::ListedObject> archives = {
      {"a.zip", {archive.size(), 7, {1, 2}}}, {second, {22, 8, {3, 4}}}};
  auto parser =
      *ZipParser::Create(archives[0], ZipParser::Keep::kFiles, &memory);
  while (const auto read = parser->next_read()) {
    CHECK_THAT(
        parser->Take(AsBytes(archive).subspan(read->offset, read->length)),
        IsOk());
  }
  contents[0] = parser->TakeContents();
  return *BuildZipIndex("it", folder, archives, std::move(contents), memory);
}

absl::StatusOr<std::shared_ptr<const ZipIndex>> Decode(std::string_view bytes) {
  base::WorkingMemory memory(base::AmpleBudget(), "an index");
  IndexFileReader file(AsBytes(bytes));
  return DecodeZipIndex(file, memory);
}

TEST_CASE("The zip index format gives the same index again",
          "[zip][zip_index_format]") {
  const auto index = Index();
  const auto again = Decode(EncodeZipIndex(*index));
  REQUIRE_THAT(again, IsOk());
  CHECK((*again)->version() == index->version());
  CHECK((*again)->longest_extent() == index->longest_extent());
  REQUIRE((*again)->size() == 2);
  for (std::uint64_t id = 0; id < 2; ++id) {
    CHECK((*again)->MemberOf(id) == index->MemberOf(id));
    CHECK((*again)->ExtentOf(id).length == index->ExtentOf(id).length);
  }
  CHECK((*again)->MemberOf(1).name == "all/dog/2.png");
  CHECK((*again)->MemberOf(1).length == 500);
  CHECK((*again)->MemberOf(1).method == ZipMethod::kDeflated);
  CHECK((*again)->IsOf(std::vector<storage::ListedObject>{
      index->ArchiveAt(0), index->ArchiveAt(1)}));
  CHECK((*again)->ArchiveAt(1).version.revision.ctime_nanos == 4);
}

TEST_CASE("A zip index that refuses an archive changes none of its entries",
          "[zip][zip_index_format]") {
  // The dataset lists one archive twice, with another inode each time.
  const auto index = Index("all", "a.zip");
  const std::vector<storage::ListedObject> archives = {index->ArchiveAt(0),
                                                       index->ArchiveAt(1)};
  for (std::size_t i = 0; i < archives.size(); ++i) {
    CAPTURE(i);
    storage::Revision revision = archives[i].version.revision;
    revision.ctime_nanos = 9;
    CHECK_FALSE(
        index->Accept("a.zip", revision, index->parts().archives[i].directory));
    CHECK(index->IsOf(archives));
  }
}

TEST_CASE("The zip index format notices every truncation",
          "[zip][zip_index_format]") {
  const std::string bytes = EncodeZipIndex(*Index());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK_THAT(Decode(bytes.substr(0, size)),
               HasCode(absl::StatusCode::kDataLoss));
  }
}

// Changes an index's bytes at `offset` after the header, with a fitting
// checksum. Returns the error.
template <typename Number>
std::string Changed(std::size_t offset, Number number) {
  std::string bytes = EncodeZipIndex(*Index());
  bytes.resize(bytes.size() - kIndexFileChecksumBytes);
  std::memcpy(bytes.data() + 64 + offset, &number, sizeof(number));
  SealIndexFile(bytes);
  return std::string(Decode(bytes).status().message());
}

TEST_CASE("The zip index format notices parts that do not fit",
          "[zip][zip_index_format]") {
  constexpr std::size_t kArchive = sizeof(ArchiveRecord);
  const auto u64 = [](std::uint64_t number) { return number; };
  CHECK_THAT(Changed(0, u64(100)), Contains("path of archive 0"));
  CHECK_THAT(Changed(8, u64(0)), Contains("path of archive 0"));
  CHECK_THAT(Changed(16, u64(1)), Contains("position of archive 0"));
  CHECK_THAT(Changed(24, ~u64(0)), Contains("position of archive 0"));
  CHECK_THAT(Changed(24, u64(10)), Contains("position of archive 1"));
  // Both images are in one group, whose base changes.
  CHECK_THAT(Changed(2 * kArchive, ~u64(0)), Contains("place of image 0"));
  CHECK_THAT(Changed(2 * kArchive, u64(1) << 40),
             Contains("extent of image 0"));
  // The methods are swapped: the first image, which is stored, would be
  // deflated, and the second would be stored.
  CHECK_THAT(Changed(2 * kArchive + 8, std::uint32_t{1}), IsEmpty());
  CHECK_THAT(Changed(2 * kArchive + 12, std::uint32_t{0}),
             Contains("length of image 1"));
}

}  // namespace
}  // namespace forebay::dataset::zip

// Tests of datasets in memory archives, from the archives' directories to the
// images.
#include "server/dataset/zip/zip_catalog.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/zip/compressed_archive.h"
#include "tests/unit/server/dataset/zip/golden_archives.h"
#include "tests/unit/server/dataset/zip/zip_catalog_fixture.h"

namespace forebay::dataset::zip {
namespace {

using tests::Contains;
using tests::ElementsAre;
using tests::HasCode;
using tests::IsEmpty;

constexpr ZipMethod kDeflated = ZipMethod::kDeflated;

TEST_CASE_METHOD(ZipCatalogTest,
                 "A zip dataset says how a damaged image is damaged",
                 "[zip][zip_catalog]") {
  Put("a.zip", {{"cat/1.png", "stored bytes"},
                {"cat/2.png", std::string(1000, 'x'), kDeflated}});
  const auto dataset = Open();
  std::string& bytes = bytes_["a.zip"];
  const std::string right = bytes;
  bytes.replace(bytes.find("stored"), 1, "S");
  CHECK_THAT(ImageOf(*dataset, 0), Contains("is damaged: its CRC-32 is "));
  const Sample second = dataset->At(1);
  bytes[second.offset + 30 + 9 + 2] ^= 0x40;
  CHECK_THAT(ImageOf(*dataset, 1), Contains("damaged"));
  bytes = right;
  bytes[second.offset] = 'X';
  CHECK(ImageOf(*dataset, 1) == "there is no header where the member begins");
  bytes = right;
  bytes[second.offset + 30] = 'X';
  CHECK(ImageOf(*dataset, 1) ==
        "the member's header has another name than the directory");
  bytes = right;
  // The header claims extra fields for which there is no space.
  bytes[second.offset + 28] = 5;
  CHECK(ImageOf(*dataset, 1) ==
        "the member's data reaches over what lies behind it");
  bytes = right;
  CHECK(ImageOf(*dataset, 1) == std::string(1000, 'x'));
}

TEST_CASE_METHOD(ZipCatalogTest,
                 "A zip dataset decompresses no more than there is room for",
                 "[zip][zip_catalog]") {
  Put("a.zip", {{"cat/1.png", std::string(1 << 20, '\0'), kDeflated}});
  const auto dataset = Open();
  const Sample sample = dataset->At(0);
  CHECK(sample.length < 2000);
  const std::string read = bytes_["a.zip"].substr(sample.offset, sample.length);
  std::uint64_t wanted = 0;
  const auto image = dataset->Decompress(
      0, AsBytes(read),
      [&](std::uint64_t bytes) -> absl::StatusOr<absl::Span<std::uint8_t>> {
        wanted = bytes;
        return absl::ResourceExhaustedError("there is no room");
      });
  CHECK(wanted == 1 << 20);
  CHECK(image.status().message() == "there is no room");
}

TEST_CASE_METHOD(ZipCatalogTest,
                 "Loaders share the zip index in memory and on disk",
                 "[zip][zip_catalog]") {
  Put("a.zip", {{"train/cat/1.png", "one"}, {"train/dog/1.png", "two"}});
  Version version;
  {
    ZipCatalog catalog(Directory(), base::AmpleBudget());
    const auto one = Open(catalog, "train");
    version = one->version();
    CHECK(source_.reads == 1);
    CHECK(Open(catalog, "train")->index() == one->index());
    CHECK(source_.reads == 1);
    CHECK(Open(catalog)->version() != version);
    CHECK(source_.reads == 2);
  }
  {
    ZipCatalog catalog(Directory(), base::AmpleBudget());
    const auto again = Open(catalog, "train");
    CHECK(again->version() == version);
    CHECK(ImageOf(*again, 1) == "two");
    CHECK(source_.reads == 2);
  }
  warnings_.clear();
  Put("a.zip", {{"train/cat/1.png", "one"}, {"train/dog/1.png", "two!"}});
  {
    ZipCatalog catalog(Directory(), base::AmpleBudget());
    const auto changed = Open(catalog, "train");
    CHECK(changed->version() != version);
    CHECK(ImageOf(*changed, 1) == "two!");
  }
  CHECK_THAT(warnings_, IsEmpty());
  for (const auto& file : std::filesystem::directory_iterator(Directory()))
    std::ofstream(file.path()) << "garbage";
  ZipCatalog catalog(Directory(), base::AmpleBudget());
  CHECK(Open(catalog, "train") != nullptr);
  CHECK_THAT(warnings_, ElementsAre(Contains("its index is built anew: ")));
}

TEST_CASE_METHOD(ZipCatalogTest,
                 "A zip layout looks again at an archive that was touched",
                 "[zip][zip_catalog]") {
  Put("a.zip", {{"cat/1.png", "one"}, {"cat/note.txt", "a note"}});
  const std::string archive = bytes_["a.zip"];
  versions_["a.zip"].revision = {.inode = 1, .ctime_nanos = 1};
  memory_.Rewrite("a.zip", archive, {1, 1});
  const auto dataset = Open();
  const auto look = [&] {
    storage::ReadRequest read;
    read.root = memory_.root();
    read.object = "a.zip";
    const Sample sample = dataset->At(0);
    read.version = sample.version;
    absl::StatusOr<storage::Revision> now;
    sample.layout->Revalidate(read, source_,
                              [&](absl::StatusOr<storage::Revision> answer) {
                                now = std::move(answer);
                              });
    return now;
  };
  memory_.Rewrite("a.zip", archive, {1, 2});
  CHECK(*look() == storage::Revision{1, 2});
  CHECK(dataset->At(0).version.revision == storage::Revision{1, 2});
  const std::string other =
      CompressedArchive({{"cat/2.png", "one"}, {"cat/note.txt", "a note"}});
  REQUIRE(other.size() == archive.size());
  memory_.Rewrite("a.zip", other, {1, 3});
  CHECK(look().status().message() ==
        "a.zip: was rewritten since the dataset was indexed");
  memory_.Rewrite("a.zip", std::string(archive.size(), '\0'), {1, 4});
  CHECK(look().status().message() ==
        "a.zip: was rewritten since the dataset was indexed");
  CHECK(dataset->At(0).version.revision == storage::Revision{1, 2});
}

TEST_CASE_METHOD(ZipCatalogTest, "A zip index needs room in the memory budget",
                 "[zip][zip_catalog]") {
  std::vector<CompressedFile> files;
  for (int i = 0; i < 10'000; ++i)
    files.push_back({absl::StrCat("cat/", i, ".png")});
  Put("a.zip", files);
  base::MemoryBudget budget(100'000);
  ZipCatalog small("", &budget);
  CHECK_THAT(small.Open(Request(), &warnings_, {}),
             HasCode(absl::StatusCode::kResourceExhausted));
  CHECK(budget.used() == 0);

  base::MemoryBudget ample(1 << 30);
  ZipCatalog catalog("", &ample);
  const auto dataset = Open(catalog);
  CHECK(dataset->size() == 10'000);
  // Each sample takes 24 bytes and its name.
  CHECK(ample.used() <= 10'000 * (24 + 8) + 4096);
  CHECK(ample.used() >= 10'000 * (24 + 5));
}

}  // namespace
}  // namespace forebay::dataset::zip

// Datasets of archives in memory, from their directories to their images.
#include "server/dataset/zip/zip_catalog.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/scratch_tree.h"
#include "tests/unit/server/dataset/zip/golden_archives.h"
#include "tests/unit/server/dataset/zip/packed_archive.h"

namespace forebay::dataset::zip {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr ZipMethod kDeflated = ZipMethod::kDeflated;

class CountingSource final : public storage::ByteSource {
 public:
  explicit CountingSource(storage::ByteSource& source) : source_(source) {}
  void Read(absl::Span<storage::ReadRequest> requests) override {
    reads += static_cast<int>(requests.size());
    source_.Read(requests);
  }
  std::atomic<int> reads = 0;

 private:
  storage::ByteSource& source_;
};

class ZipCatalogTest : public testing::Test {
 protected:
  void Put(const std::string& path, const std::vector<PackedFile>& files) {
    PutBytes(path, PackedArchive(files));
  }
  void PutBytes(const std::string& path, const std::string& bytes) {
    bytes_[path] = bytes;
    versions_[path] = memory_.Put(path, bytes);
  }

  ZipRequest Request(const std::string& folder = "") {
    return {.root = memory_.root(),
            .patterns = {"*.zip"},
            .folder = folder,
            .list = [this](base::WorkingMemory&, const std::stop_token&)
                -> absl::StatusOr<ZipRequest::Archives> {
              ZipRequest::Archives archives;
              for (const auto& [path, version] : versions_)
                archives.push_back({path, version});
              return archives;
            },
            .source = &source_};
  }
  std::shared_ptr<const Dataset> Open(const std::string& folder = "") {
    return Open(catalog_, folder);
  }
  std::shared_ptr<const Dataset> Open(ZipCatalog& catalog,
                                      const std::string& folder = "") {
    auto dataset = catalog.Open(Request(folder), &warnings_, {});
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    return dataset.ok() ? *dataset : nullptr;
  }
  std::string Refusal(const std::string& folder = "") {
    const auto dataset = catalog_.Open(Request(folder), &warnings_, {});
    EXPECT_FALSE(dataset.ok());
    return std::string(dataset.status().message());
  }

  // The sample's image, or why there is none.
  std::string ImageOf(const Dataset& dataset, std::uint64_t id) const {
    const Sample sample = dataset.At(id);
    std::vector<FieldValue> values(2);
    dataset.ValuesOf(id, absl::MakeSpan(values));
    EXPECT_EQ(std::get<PackedRange>(values[0]).range.length, sample.length);
    const std::string read =
        bytes_.at(sample.object).substr(sample.offset, sample.length);
    std::vector<std::uint8_t> unpacked;
    const auto image = dataset.Unpack(id, AsBytes(read), [&](std::uint64_t n) {
      unpacked.resize(n);
      return absl::MakeSpan(unpacked);
    });
    return image.ok() ? std::string(image->begin(), image->end())
                      : std::string(image.status().message());
  }
  static std::int64_t LabelOf(const Dataset& dataset, std::uint64_t id) {
    std::vector<FieldValue> values(2);
    dataset.ValuesOf(id, absl::MakeSpan(values));
    return std::get<std::int64_t>(values[1]);
  }
  static std::vector<std::string> NamesOf(const Dataset& dataset) {
    std::vector<std::string> names;
    for (std::uint64_t id = 0; id < dataset.size(); ++id)
      names.push_back(dataset.NameOf(id));
    return names;
  }
  std::string Directory() const { return tree_.path() + "/indexes"; }

  ScratchTree tree_;
  storage::MemorySource memory_;
  CountingSource source_{memory_};
  std::map<std::string, storage::ObjectVersion> versions_;
  std::map<std::string, std::string> bytes_;
  std::vector<std::string> warnings_;
  ZipCatalog catalog_{"", base::AmpleBudget()};
};

TEST_F(ZipCatalogTest, HasTheOrderOfAFolderAndTheBytesOfEachFile) {
  Put("a.zip", {{"dog/b.png", "the dog b", kDeflated, "more of the header"},
                {"dog/note.txt", "no image"},
                {"cat/z/1.JPG", std::string(5000, 'z'), kDeflated},
                {"README", "no image either"},
                {"top.png", "has no class"},
                {"cat/", ""},
                {"cat/10.png", "ten"},
                {"cat/9.png", ""},
                {"dog/a.webp", "the dog a", ZipMethod::kStored, "xx"}});
  const auto dataset = Open();
  ASSERT_NE(dataset, nullptr);
  EXPECT_THAT(dataset->classes(), ElementsAre("cat", "dog"));
  EXPECT_THAT(NamesOf(*dataset),
              ElementsAre("cat/10.png", "cat/9.png", "cat/z/1.JPG",
                          "dog/a.webp", "dog/b.png"));
  EXPECT_EQ(ImageOf(*dataset, 0), "ten");
  EXPECT_EQ(ImageOf(*dataset, 1), "");
  EXPECT_EQ(ImageOf(*dataset, 2), std::string(5000, 'z'));
  EXPECT_EQ(ImageOf(*dataset, 3), "the dog a");
  EXPECT_EQ(ImageOf(*dataset, 4), "the dog b");
  EXPECT_EQ(LabelOf(*dataset, 2), 0);
  EXPECT_EQ(LabelOf(*dataset, 3), 1);
  ASSERT_EQ(dataset->fields().size(), 2);
  EXPECT_EQ(dataset->fields()[0].longest, 5000);
  std::uint64_t longest = 0;
  for (std::uint64_t id = 0; id < dataset->size(); ++id)
    longest = std::max(longest, dataset->At(id).length);
  EXPECT_EQ(dataset->largest_sample(), longest);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(ZipCatalogTest, AFolderInTheArchivesHasItsOwnClasses) {
  Put("a.zip", {{"all/train/cat/1.png", "one"},
                {"all/train/dog/2.png", "two"},
                {"all/train2/cat/3.png", "three"},
                {"all/val/cat/4.png", "four"}});
  const auto train = Open("all/train");
  EXPECT_THAT(NamesOf(*train),
              ElementsAre("all/train/cat/1.png", "all/train/dog/2.png"));
  EXPECT_EQ(ImageOf(*train, 1), "two");
  EXPECT_THAT(Open("all/val")->classes(), ElementsAre("cat"));
  EXPECT_THAT(Open("all")->classes(), ElementsAre("train", "train2", "val"));
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_THAT(Open("")->classes(), ElementsAre("all"));
  EXPECT_THAT(warnings_,
              ElementsAre(HasSubstr("/*.zip: its images are all of one class, "
                                    "because they lie below one folder; if the "
                                    "folders in that are the classes, pass ")));
  EXPECT_THAT(warnings_, ElementsAre(testing::EndsWith("/*.zip/all")));
  EXPECT_THAT(Refusal("all/test"),
              HasSubstr("/*.zip/all/test: there is no such folder in the "
                        "archive, or nothing in it"));
}

TEST_F(ZipCatalogTest, NamesMayAllBeginWithADot) {
  Put("a.zip", {{"./", ""},
                {"./train/cat/1.png", "one"},
                {"./train/dog/2.png", "two", kDeflated},
                {"./LICENSE", "mine"}});
  EXPECT_THAT(Open("")->classes(), ElementsAre("train"));
  EXPECT_THAT(warnings_, ElementsAre(testing::EndsWith("/*.zip/train")));
  const auto train = Open("train");
  EXPECT_THAT(train->classes(), ElementsAre("cat", "dog"));
  EXPECT_THAT(NamesOf(*train),
              ElementsAre("./train/cat/1.png", "./train/dog/2.png"));
  EXPECT_EQ(ImageOf(*train, 1), "two");
  Put("b.zip", {{"cat/1.png", "has no dot"}});
  EXPECT_THAT(Refusal(), HasSubstr("./train/cat/1.png has a path that is not"));
}

TEST_F(ZipCatalogTest, TheFolderToPassIsTheOneThatHasFolders) {
  const auto advice = [&](const std::vector<std::string>& names,
                          const std::string& folder = "") {
    std::vector<PackedFile> files;
    for (const std::string& name : names) files.push_back({name});
    Put("a.zip", files);
    warnings_.clear();
    Open(folder);
    if (warnings_.empty()) return std::string();
    return warnings_[0].substr(warnings_[0].rfind(".zip") + 4);
  };
  EXPECT_EQ(advice({"a/b/cat/1.png", "a/b/dog/x/1.png"}), "/a/b");
  EXPECT_EQ(advice({"a/b/cat/1.png", "a/b/dog/x/1.png"}, "a"), "/a/b");
  EXPECT_EQ(advice({"a/cat/1.png", "a/cat/x/2.png"}), "/a");
  EXPECT_EQ(advice({"a/cat/1.png", "a/cats/2.png"}), "/a");
  EXPECT_EQ(advice({"a/cat/1.png", "__MACOSX/a/cat/._1.png"}), "/a");
  EXPECT_EQ(advice({"a/1.png", "a/cat/2.png"}), "");
  EXPECT_EQ(advice({"a/1.png", "a/2.png"}), "");
  EXPECT_EQ(advice({"a/x/1.png", "b/x/2.png"}), "");
}

TEST_F(ZipCatalogTest, ArchivesAreOneTree) {
  Put("a.zip", {{"dog/1.png", "a"}, {"cat/2.png", "b"}});
  Put("b.zip", {{"cat/1.png", "c", kDeflated}, {"eel/1.png", "d"}});
  PutBytes("c.zip", PackedArchive({}));
  const auto dataset = Open();
  EXPECT_THAT(dataset->classes(), ElementsAre("cat", "dog", "eel"));
  std::string images;
  for (std::uint64_t id = 0; id < 4; ++id) images += ImageOf(*dataset, id);
  EXPECT_EQ(images, "cbad");
  EXPECT_EQ(dataset->At(0).object, "b.zip");
  EXPECT_EQ(dataset->At(1).object, "a.zip");

  Put("c.zip", {{"cat/2.png", "again"}});
  EXPECT_THAT(Refusal(),
              HasSubstr("a.zip and c.zip both have cat/2.png: archives that "
                        "make one tree have each path once"));
}

TEST_F(ZipCatalogTest, OfAPathThatAnArchiveHasTwiceTheLastCounts) {
  Put("a.zip",
      {{"cat/1.png", "first"}, {"cat/0.png", "zero"}, {"cat/1.png", "second"}});
  const auto dataset = Open();
  ASSERT_EQ(dataset->size(), 2);
  EXPECT_EQ(ImageOf(*dataset, 1), "second");
}

TEST_F(ZipCatalogTest, NamesAreSortedAsUtf8WhateverTheyAre) {
  Put("a.zip", {{"x/\xef\xbf\xbd.png", "U+FFFD"},
                {"x/\xf0\x9f\x98\x80.png", "U+1F600"},
                {"x/\x81.png", "a lone byte"},
                {"x/\xc3\xbc.png", "U+00FC"}});
  const auto dataset = Open();
  std::string images;
  for (std::uint64_t id = 0; id < 4; ++id)
    images += ImageOf(*dataset, id) + " ";
  EXPECT_EQ(images, "U+00FC a lone byte U+FFFD U+1F600 ");
}

TEST_F(ZipCatalogTest, WhatIsNoTreeOfImagesIsRefused) {
  PutBytes("a.zip", PackedArchive({}));
  EXPECT_THAT(Refusal(), HasSubstr("*.zip: found no class folder in it"));
  Put("a.zip", {{"1.png", "one"}});
  EXPECT_THAT(Refusal(), HasSubstr("*.zip: found no class folder in it"));
  Put("a.zip", {{"cat/1.png", "one"}, {"dog/1.txt", "one"}});
  EXPECT_THAT(Refusal(), HasSubstr("found no valid file for the classes dog"));
  const std::string whole = bytes_["a.zip"];
  PutBytes("a.zip", whole.substr(0, whole.size() - 1));
  EXPECT_THAT(Refusal(), HasSubstr("a.zip: at byte "));
  PutBytes("a.zip", "short");
  EXPECT_THAT(Refusal(), HasSubstr("a.zip: is no zip archive: it has only 5"));
}

TEST_F(ZipCatalogTest, DamagedImagesAreNamedForWhatTheyAre) {
  Put("a.zip", {{"cat/1.png", "stored bytes"},
                {"cat/2.png", std::string(1000, 'x'), kDeflated}});
  const auto dataset = Open();
  std::string& bytes = bytes_["a.zip"];
  const std::string right = bytes;
  bytes.replace(bytes.find("stored"), 1, "S");
  EXPECT_THAT(ImageOf(*dataset, 0), HasSubstr("is damaged: its CRC-32 is "));
  const Sample second = dataset->At(1);
  bytes[second.offset + 30 + 9 + 2] ^= 0x40;
  EXPECT_THAT(ImageOf(*dataset, 1), HasSubstr("damaged"));
  bytes = right;
  bytes[second.offset] = 'X';
  EXPECT_EQ(ImageOf(*dataset, 1), "there is no header where the member begins");
  bytes = right;
  bytes[second.offset + 30] = 'X';
  EXPECT_EQ(ImageOf(*dataset, 1),
            "the member's header has another name than the directory");
  bytes = right;
  bytes[second.offset + 28] = 5;  // extra fields that nothing has room for
  EXPECT_EQ(ImageOf(*dataset, 1),
            "the member's data reaches over what lies behind it");
  bytes = right;
  EXPECT_EQ(ImageOf(*dataset, 1), std::string(1000, 'x'));
}

TEST_F(ZipCatalogTest, NoMoreIsInflatedThanThereIsRoomFor) {
  Put("a.zip", {{"cat/1.png", std::string(1 << 20, '\0'), kDeflated}});
  const auto dataset = Open();
  const Sample sample = dataset->At(0);
  EXPECT_LT(sample.length, 2000);
  const std::string read = bytes_["a.zip"].substr(sample.offset, sample.length);
  std::uint64_t wanted = 0;
  const auto image = dataset->Unpack(
      0, AsBytes(read),
      [&](std::uint64_t bytes) -> absl::StatusOr<absl::Span<std::uint8_t>> {
        wanted = bytes;
        return absl::ResourceExhaustedError("there is no room");
      });
  EXPECT_EQ(wanted, 1 << 20);
  EXPECT_EQ(image.status().message(), "there is no room");
}

TEST_F(ZipCatalogTest, LoadersShareTheIndexInMemoryAndOnDisk) {
  Put("a.zip", {{"train/cat/1.png", "one"}, {"train/dog/1.png", "two"}});
  Version version;
  {
    ZipCatalog catalog(Directory(), base::AmpleBudget());
    const auto one = Open(catalog, "train");
    version = one->version();
    EXPECT_EQ(source_.reads, 1);
    EXPECT_EQ(Open(catalog, "train")->index(), one->index());
    EXPECT_EQ(source_.reads, 1);
    EXPECT_NE(Open(catalog)->version(), version);
    EXPECT_EQ(source_.reads, 2);
  }
  {
    ZipCatalog catalog(Directory(), base::AmpleBudget());
    const auto again = Open(catalog, "train");
    EXPECT_EQ(again->version(), version);
    EXPECT_EQ(ImageOf(*again, 1), "two");
    EXPECT_EQ(source_.reads, 2);
  }
  warnings_.clear();
  Put("a.zip", {{"train/cat/1.png", "one"}, {"train/dog/1.png", "two!"}});
  {
    ZipCatalog catalog(Directory(), base::AmpleBudget());
    const auto changed = Open(catalog, "train");
    EXPECT_NE(changed->version(), version);
    EXPECT_EQ(ImageOf(*changed, 1), "two!");
  }
  EXPECT_THAT(warnings_, IsEmpty());
  for (const auto& file : std::filesystem::directory_iterator(Directory()))
    std::ofstream(file.path()) << "garbage";
  ZipCatalog catalog(Directory(), base::AmpleBudget());
  EXPECT_NE(Open(catalog, "train"), nullptr);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("its index is built anew: ")));
}

TEST_F(ZipCatalogTest, ALayoutLooksAgainAtAnArchiveThatWasTouched) {
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
    sample.layout->LookAgain(read, source_,
                             [&](absl::StatusOr<storage::Revision> answer) {
                               now = std::move(answer);
                             });
    return now;
  };
  memory_.Rewrite("a.zip", archive, {1, 2});
  EXPECT_EQ(*look(), (storage::Revision{1, 2}));
  EXPECT_EQ(dataset->At(0).version.revision, (storage::Revision{1, 2}));
  const std::string other =
      PackedArchive({{"cat/2.png", "one"}, {"cat/note.txt", "a note"}});
  ASSERT_EQ(other.size(), archive.size());
  memory_.Rewrite("a.zip", other, {1, 3});
  EXPECT_EQ(look().status().message(),
            "a.zip: was rewritten since the dataset was indexed");
  memory_.Rewrite("a.zip", std::string(archive.size(), '\0'), {1, 4});
  EXPECT_EQ(look().status().message(),
            "a.zip: was rewritten since the dataset was indexed");
  EXPECT_EQ(dataset->At(0).version.revision, (storage::Revision{1, 2}));
}

TEST_F(ZipCatalogTest, AnIndexNeedsRoomInTheBudget) {
  std::vector<PackedFile> files;
  for (int i = 0; i < 10'000; ++i)
    files.push_back({absl::StrCat("cat/", i, ".png")});
  Put("a.zip", files);
  base::MemoryBudget budget(100'000);
  ZipCatalog small("", &budget);
  EXPECT_TRUE(absl::IsResourceExhausted(
      small.Open(Request(), &warnings_, {}).status()));
  EXPECT_EQ(budget.used(), 0);

  base::MemoryBudget ample(1 << 30);
  ZipCatalog catalog("", &ample);
  const auto dataset = Open(catalog);
  EXPECT_EQ(dataset->size(), 10'000);
  // 24 bytes a sample, and its name.
  EXPECT_LE(ample.used(), 10'000 * (24 + 8) + 4096);
  EXPECT_GE(ample.used(), 10'000 * (24 + 5));
}

}  // namespace
}  // namespace forebay::dataset::zip

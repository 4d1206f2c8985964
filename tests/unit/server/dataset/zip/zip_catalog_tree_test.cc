// Tests of the tree of classes and images that a dataset finds in its archives.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "server/dataset/zip/zip_catalog.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/zip/compressed_archive.h"
#include "tests/unit/server/dataset/zip/zip_catalog_fixture.h"

namespace forebay::dataset::zip {
namespace {

using tests::Contains;
using tests::ElementsAre;
using tests::EndsWith;
using tests::IsEmpty;

constexpr ZipMethod kDeflated = ZipMethod::kDeflated;

TEST_CASE_METHOD(
    ZipCatalogTest,
    "A zip dataset has the order of a folder and the bytes of each file",
    "[zip][zip_catalog_tree]") {
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
  REQUIRE(dataset != nullptr);
  CHECK_THAT(dataset->classes(), ElementsAre("cat", "dog"));
  CHECK_THAT(NamesOf(*dataset),
             ElementsAre("cat/10.png", "cat/9.png", "cat/z/1.JPG", "dog/a.webp",
                         "dog/b.png"));
  CHECK(ImageOf(*dataset, 0) == "ten");
  CHECK_THAT(ImageOf(*dataset, 1), Catch::Equals(""));
  CHECK(ImageOf(*dataset, 2) == std::string(5000, 'z'));
  CHECK(ImageOf(*dataset, 3) == "the dog a");
  CHECK(ImageOf(*dataset, 4) == "the dog b");
  CHECK(LabelOf(*dataset, 2) == 0);
  CHECK(LabelOf(*dataset, 3) == 1);
  REQUIRE(dataset->fields().size() == 2);
  CHECK(dataset->fields()[0].longest == 5000);
  std::uint64_t longest = 0;
  for (std::uint64_t id = 0; id < dataset->size(); ++id)
    longest = std::max(longest, dataset->At(id).length);
  CHECK(dataset->largest_sample() == longest);
  CHECK_THAT(warnings_, IsEmpty());
}

TEST_CASE_METHOD(ZipCatalogTest, "A folder in zip archives has its own classes",
                 "[zip][zip_catalog_tree]") {
  Put("a.zip", {{"all/train/cat/1.png", "one"},
                {"all/train/dog/2.png", "two"},
                {"all/train2/cat/3.png", "three"},
                {"all/val/cat/4.png", "four"}});
  const auto train = Open("all/train");
  CHECK_THAT(NamesOf(*train),
             ElementsAre("all/train/cat/1.png", "all/train/dog/2.png"));
  CHECK(ImageOf(*train, 1) == "two");
  CHECK_THAT(Open("all/val")->classes(), ElementsAre("cat"));
  CHECK_THAT(Open("all")->classes(), ElementsAre("train", "train2", "val"));
  CHECK_THAT(warnings_, IsEmpty());
  CHECK_THAT(Open("")->classes(), ElementsAre("all"));
  CHECK_THAT(warnings_,
             ElementsAre(Contains("/*.zip: its images are all of one class, "
                                  "because they lie below one folder; if the "
                                  "folders in that are the classes, pass ")));
  CHECK_THAT(warnings_, ElementsAre(EndsWith("/*.zip/all")));
  CHECK_THAT(Refusal("all/test"),
             Contains("/*.zip/all/test: there is no such folder in the "
                      "archive, or nothing in it"));
}

TEST_CASE_METHOD(ZipCatalogTest,
                 "Names in a zip archive may all begin with a dot",
                 "[zip][zip_catalog_tree]") {
  Put("a.zip", {{"./", ""},
                {"./train/cat/1.png", "one"},
                {"./train/dog/2.png", "two", kDeflated},
                {"./LICENSE", "mine"}});
  CHECK_THAT(Open("")->classes(), ElementsAre("train"));
  CHECK_THAT(warnings_, ElementsAre(EndsWith("/*.zip/train")));
  const auto train = Open("train");
  CHECK_THAT(train->classes(), ElementsAre("cat", "dog"));
  CHECK_THAT(NamesOf(*train),
             ElementsAre("./train/cat/1.png", "./train/dog/2.png"));
  CHECK(ImageOf(*train, 1) == "two");
  Put("b.zip", {{"cat/1.png", "has no dot"}});
  CHECK_THAT(Refusal(), Contains("./train/cat/1.png has a path that is not"));
}

TEST_CASE_METHOD(
    ZipCatalogTest,
    "The zip catalog advises to pass the folder that has several folders",
    "[zip][zip_catalog_tree]") {
  const auto advice = [&](const std::vector<std::string>& names,
                          const std::string& folder = "") {
    std::vector<CompressedFile> files;
    for (const std::string& name : names) files.push_back({name});
    Put("a.zip", files);
    warnings_.clear();
    Open(folder);
    if (warnings_.empty()) return std::string();
    return warnings_[0].substr(warnings_[0].rfind(".zip") + 4);
  };
  CHECK(advice({"a/b/cat/1.png", "a/b/dog/x/1.png"}) == "/a/b");
  CHECK(advice({"a/b/cat/1.png", "a/b/dog/x/1.png"}, "a") == "/a/b");
  CHECK(advice({"a/cat/1.png", "a/cat/x/2.png"}) == "/a");
  CHECK(advice({"a/cat/1.png", "a/cats/2.png"}) == "/a");
  CHECK(advice({"a/cat/1.png", "__MACOSX/a/cat/._1.png"}) == "/a");
  CHECK_THAT(advice({"a/1.png", "a/cat/2.png"}), Catch::Equals(""));
  CHECK_THAT(advice({"a/1.png", "a/2.png"}), Catch::Equals(""));
  CHECK_THAT(advice({"a/x/1.png", "b/x/2.png"}), Catch::Equals(""));
}

TEST_CASE_METHOD(ZipCatalogTest,
                 "The zip catalog makes several archives one tree",
                 "[zip][zip_catalog_tree]") {
  Put("a.zip", {{"dog/1.png", "a"}, {"cat/2.png", "b"}});
  Put("b.zip", {{"cat/1.png", "c", kDeflated}, {"eel/1.png", "d"}});
  PutBytes("c.zip", CompressedArchive({}));
  const auto dataset = Open();
  CHECK_THAT(dataset->classes(), ElementsAre("cat", "dog", "eel"));
  std::string images;
  for (std::uint64_t id = 0; id < 4; ++id) images += ImageOf(*dataset, id);
  CHECK(images == "cbad");
  CHECK(dataset->At(0).object == "b.zip");
  CHECK(dataset->At(1).object == "a.zip");

  Put("c.zip", {{"cat/2.png", "again"}});
  CHECK_THAT(Refusal(),
             Contains("a.zip and c.zip both have cat/2.png: archives that "
                      "make one tree have each path once"));
}

TEST_CASE_METHOD(
    ZipCatalogTest,
    "The zip catalog takes the last file of a path that an archive has twice",
    "[zip][zip_catalog_tree]") {
  Put("a.zip",
      {{"cat/1.png", "first"}, {"cat/0.png", "zero"}, {"cat/1.png", "second"}});
  const auto dataset = Open();
  REQUIRE(dataset->size() == 2);
  CHECK(ImageOf(*dataset, 1) == "second");
}

TEST_CASE_METHOD(ZipCatalogTest,
                 "The zip catalog sorts names as UTF-8 whatever they are",
                 "[zip][zip_catalog_tree]") {
  Put("a.zip", {{"x/\xef\xbf\xbd.png", "U+FFFD"},
                {"x/\xf0\x9f\x98\x80.png", "U+1F600"},
                {"x/\x81.png", "a lone byte"},
                {"x/\xc3\xbc.png", "U+00FC"}});
  const auto dataset = Open();
  std::string images;
  for (std::uint64_t id = 0; id < 4; ++id)
    images += ImageOf(*dataset, id) + " ";
  CHECK(images == "U+00FC a lone byte U+FFFD U+1F600 ");
}

TEST_CASE_METHOD(ZipCatalogTest,
                 "The zip catalog refuses what is not a tree of images",
                 "[zip][zip_catalog_tree]") {
  PutBytes("a.zip", CompressedArchive({}));
  CHECK_THAT(Refusal(), Contains("*.zip: found no class folder in it"));
  Put("a.zip", {{"1.png", "one"}});
  CHECK_THAT(Refusal(), Contains("*.zip: found no class folder in it"));
  Put("a.zip", {{"cat/1.png", "one"}, {"dog/1.txt", "one"}});
  CHECK_THAT(Refusal(), Contains("found no valid file for the classes dog"));
  const std::string whole = bytes_["a.zip"];
  PutBytes("a.zip", whole.substr(0, whole.size() - 1));
  CHECK_THAT(Refusal(), Contains("a.zip: at byte "));
  PutBytes("a.zip", "short");
  CHECK_THAT(Refusal(), Contains("a.zip: is not a zip archive: it has only 5"));
}

}  // namespace
}  // namespace forebay::dataset::zip

// Tests of folders of .npy files and of audio files.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "proto/dataset.pb.h"
#include "server/dataset/folder/folder_catalog.h"
#include "server/dataset/folder/folder_index_format.h"
#include "server/dataset/folder/folder_scan.h"
#include "server/dataset/folder/revalidation.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/fake_lister.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset::folder {
namespace {

using tests::ElementsAre;
using tests::HasCode;
using tests::IsEmpty;
using tests::IsOk;

using IndexOr = absl::StatusOr<std::shared_ptr<const FolderIndex>>;

ScanOptions Options(FolderKind kind) {
  ScanOptions options;
  options.kind = kind;
  options.threads = 2;
  options.budget = base::AmpleBudget();
  return options;
}

std::vector<std::string> Names(const FolderIndex& index) {
  std::vector<std::string> names;
  for (std::uint64_t id = 0; id < index.size(); ++id)
    names.push_back(index.At(id).object);
  return names;
}

// Has the same files on a disk and in a bucket.
class ArrayFolderTest {
 protected:
  void Write(const std::string& name, const std::string& content = "x") {
    tree_.Write("data/" + name, content);
    lister_.Put(name, content.size());
  }

  // Finds the files on the disk and in the bucket, and checks that the results
  // are the same.
  IndexOr Find(FolderKind kind) {
    IndexOr local = ScanFolder(*tree_.Root("data"), Options(kind));
    const IndexOr remote = ListFolder(lister_, *lister_.root(), Options(kind));
    CHECK(local.status().code() == remote.status().code());
    if (!local.ok() || !remote.ok()) return local;
    CHECK(Names(**local) == Names(**remote));
    CHECK((*local)->classes() == (*remote)->classes());
    CHECK((*local)->is_flat() == (*remote)->is_flat());
    return local;
  }

  std::string Refusal(FolderKind kind, absl::StatusCode code) {
    const absl::Status status = Find(kind).status();
    CHECK_THAT(status, HasCode(code));
    const std::string root = tree_.path() + "/data: ";
    CHECK(status.message().substr(0, root.size()) == root);
    return std::string(status.message().substr(root.size()));
  }

  ScratchTree tree_;
  FakeLister lister_;
};

TEST_CASE_METHOD(ArrayFolderTest,
                 "Files directly in an array folder come in Python's order",
                 "[folder][array_folder]") {
  for (const std::string name :
       {"b.npy", "a10.npy", "a2.npy", "B.NPY", "notes.txt", "image.jpg",
        "\u00e9.npy", "below/c.txt"}) {
    Write(name);
  }
  for (const FolderKind kind : {FolderKind::kArrays, FolderKind::kFlatArrays}) {
    const auto index = Find(kind);
    REQUIRE_THAT(index, IsOk());
    CHECK_THAT(Names(**index), ElementsAre("B.NPY", "a10.npy", "a2.npy",
                                           "b.npy", "\u00e9.npy"));
    CHECK((*index)->is_flat());
    CHECK_THAT((*index)->classes(), IsEmpty());
    CHECK((*index)->PathLengthOf(0) == 5);
  }
}

TEST_CASE_METHOD(ArrayFolderTest,
                 "Folders within an array folder are its classes",
                 "[folder][array_folder]") {
  for (const std::string name :
       {"b/1.npy", "a/deep/2.npy", "a/1.npy", "a/image.jpg", "notes.txt"}) {
    Write(name);
  }
  for (const FolderKind kind :
       {FolderKind::kArrays, FolderKind::kClassArrays}) {
    const auto index = Find(kind);
    REQUIRE_THAT(index, IsOk());
    CHECK_THAT(Names(**index),
               ElementsAre("a/1.npy", "a/deep/2.npy", "b/1.npy"));
    CHECK_THAT((*index)->classes(), ElementsAre("a", "b"));
    CHECK_FALSE((*index)->is_flat());
    CHECK((*index)->LabelOf(2) == 1);
  }
  CHECK(Refusal(FolderKind::kFlatArrays, absl::StatusCode::kNotFound) ==
        "found no .npy file in it");
}

TEST_CASE_METHOD(
    ArrayFolderTest,
    "An array folder with both files and class folders needs a choice",
    "[folder][array_folder]") {
  Write("mean.npy");
  Write("a/1.npy");
  Write("b/1.npy");
  CHECK(Refusal(FolderKind::kArrays, absl::StatusCode::kInvalidArgument) ==
        ".npy files lie directly in it and in the folder a: say whether "
        "folders are classes, by labels=True or labels=False");
  CHECK_THAT(Names(**Find(FolderKind::kFlatArrays)), ElementsAre("mean.npy"));
  CHECK_THAT(Names(**Find(FolderKind::kClassArrays)),
             ElementsAre("a/1.npy", "b/1.npy"));
}

TEST_CASE_METHOD(ArrayFolderTest, "An array folder says what is missing",
                 "[folder][array_folder]") {
  Write("notes.txt");
  CHECK(Refusal(FolderKind::kArrays, absl::StatusCode::kNotFound) ==
        "found no .npy file in it");
  Write("a/1.npy");
  Write("b/1.jpg");
  CHECK(Refusal(FolderKind::kArrays, absl::StatusCode::kNotFound) ==
        "found no valid file for the classes b; supported extensions are "
        ".npy");
}

TEST_CASE_METHOD(ArrayFolderTest,
                 "An array folder knows the lengths of its files",
                 "[folder][array_folder]") {
  Write("1.npy", "four");
  Write("2.npy", "seventeen bytes..");
  const auto index = Find(FolderKind::kArrays);
  REQUIRE_THAT(index, IsOk());
  CHECK((*index)->smallest_sample() == 4);
  CHECK((*index)->largest_sample() == 17);
}

TEST_CASE_METHOD(ArrayFolderTest,
                 "A flat array folder is looked at again for changes",
                 "[folder][array_folder]") {
  Write("1.npy");
  Write("2.npy");
  const auto root = tree_.Root("data");
  const auto index = *ScanFolder(*root, Options(FolderKind::kArrays));
  std::vector<std::string> warnings;
  CHECK(IsUnchanged(*root, *index, {}, &warnings));
  tree_.Write("data/2.npy", "longer");
  CHECK_FALSE(IsUnchanged(*root, *index, {}, &warnings));
  CHECK(warnings.size() == 1);
}

TEST_CASE_METHOD(ArrayFolderTest, "A flat array folder's index is kept",
                 "[folder][array_folder]") {
  Write("1.npy");
  Write("2.npy");
  const auto index = *Find(FolderKind::kArrays);
  const std::string bytes = EncodeFolderIndex(*index, 9);
  base::WorkingMemory memory(base::AmpleBudget(), "an index");
  IndexFileReader file(absl::MakeConstSpan(
      reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
  const auto again = DecodeFolderIndex(file, 9, memory);
  REQUIRE_THAT(again, IsOk());
  CHECK((*again)->version() == index->version());
  CHECK(Names(**again) == Names(*index));
}

TEST_CASE_METHOD(ArrayFolderTest,
                 "The folder catalog makes the fields of an array folder",
                 "[folder][array_folder]") {
  Write("a/1.npy", "four");
  Write("b/1.npy", "threes");
  CatalogOptions options;
  options.lister = &lister_;
  options.wall_clock = [] { return std::int64_t{0}; };
  options.budget = base::AmpleBudget();
  FolderCatalog folders(options);
  proto::DatasetSpec spec;
  spec.mutable_npy_folder();
  std::vector<std::string> warnings;
  auto dataset = folders.Open(lister_.root(), spec, &warnings, {});
  REQUIRE_THAT(dataset, IsOk());
  REQUIRE((*dataset)->fields().size() == 2);
  const Field& array = (*dataset)->fields()[0];
  CHECK(array.name == "array");
  CHECK(array.kind == proto::FieldKind::kArray);
  CHECK(array.ragged());
  CHECK(array.longest == 6);
  CHECK(array.shortest == 4);
  CHECK((*dataset)->fields()[1].name == "label");
  spec.mutable_npy_folder()->set_layout(proto::NpyFolder::FLAT);
  CHECK_THAT(folders.Open(lister_.root(), spec, &warnings, {}),
             HasCode(absl::StatusCode::kNotFound));
  spec.mutable_npy_folder()->set_layout(
      static_cast<proto::NpyFolder::Layout>(3));
  CHECK_THAT(folders.Open(lister_.root(), spec, &warnings, {}),
             HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_CASE_METHOD(ArrayFolderTest,
                 "Audio files lie in class folders or directly in the root",
                 "[folder][array_folder]") {
  for (const char* const name :
       {"a/1.wav", "a/2.FLAC", "b/1.ogg", "b/c/1.opus", "b/2.npy", "b/2.jpg"})
    Write(name);
  const IndexOr classes = Find(FolderKind::kClassAudio);
  REQUIRE_THAT(classes, IsOk());
  CHECK_THAT(Names(**classes),
             ElementsAre("a/1.wav", "a/2.FLAC", "b/1.ogg", "b/c/1.opus"));
  CHECK(Refusal(FolderKind::kFlatAudio, absl::StatusCode::kNotFound) ==
        "found no audio file in it");
  Write("z.mp3");
  const IndexOr flat = Find(FolderKind::kFlatAudio);
  REQUIRE_THAT(flat, IsOk());
  CHECK_THAT(Names(**flat), ElementsAre("z.mp3"));
  CHECK((*flat)->is_flat());
}

TEST_CASE_METHOD(ArrayFolderTest, "The folder catalog tells audio from images",
                 "[folder][array_folder]") {
  Write("a/1.wav", "four");
  Write("b/1.flac", "threes");
  CatalogOptions options;
  options.lister = &lister_;
  options.wall_clock = [] { return std::int64_t{0}; };
  options.budget = base::AmpleBudget();
  FolderCatalog folders(options);
  proto::DatasetSpec spec;
  spec.mutable_image_folder();
  std::vector<std::string> warnings;
  CHECK_THAT(folders.Open(lister_.root(), spec, &warnings, {}),
             HasCode(absl::StatusCode::kNotFound));
  spec.mutable_audio_folder();
  const auto dataset = folders.Open(lister_.root(), spec, &warnings, {});
  REQUIRE_THAT(dataset, IsOk());
  REQUIRE((*dataset)->fields().size() == 2);
  CHECK((*dataset)->fields()[0].name == "audio");
  CHECK((*dataset)->fields()[0].kind == proto::FieldKind::kAudio);
  CHECK((*dataset)->fields()[0].longest == 6);
  spec.mutable_audio_folder()->set_flat(true);
  CHECK_THAT(folders.Open(lister_.root(), spec, &warnings, {}),
             HasCode(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace forebay::dataset::folder

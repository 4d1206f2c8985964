// Folders of .npy files and of audio files.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/dataset.pb.h"
#include "server/dataset/folder/folder_catalog.h"
#include "server/dataset/folder/folder_index_format.h"
#include "server/dataset/folder/folder_scan.h"
#include "server/dataset/folder/revalidation.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/fake_lister.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset::folder {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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

// The same files on a disk and in a bucket.
class ArrayFolderTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& content = "x") {
    tree_.Write("data/" + name, content);
    lister_.Put(name, content.size());
  }

  // Finds both, and that they are the same.
  IndexOr Find(FolderKind kind) {
    IndexOr local = ScanFolder(*tree_.Root("data"), Options(kind));
    const IndexOr remote = ListFolder(lister_, *lister_.root(), Options(kind));
    EXPECT_EQ(local.status().code(), remote.status().code());
    if (!local.ok() || !remote.ok()) return local;
    EXPECT_EQ(Names(**local), Names(**remote));
    EXPECT_EQ((*local)->classes(), (*remote)->classes());
    EXPECT_EQ((*local)->is_flat(), (*remote)->is_flat());
    return local;
  }

  std::string Refusal(FolderKind kind, absl::StatusCode code) {
    const absl::Status status = Find(kind).status();
    EXPECT_EQ(status.code(), code) << status;
    const std::string root = tree_.path() + "/data: ";
    EXPECT_TRUE(status.message().substr(0, root.size()) == root) << status;
    return std::string(status.message().substr(root.size()));
  }

  ScratchTree tree_;
  FakeLister lister_;
};

TEST_F(ArrayFolderTest, FilesRightInItComeInPythonsOrder) {
  for (const std::string name :
       {"b.npy", "a10.npy", "a2.npy", "B.NPY", "notes.txt", "image.jpg",
        "\u00e9.npy", "below/c.txt"}) {
    Write(name);
  }
  for (const FolderKind kind : {FolderKind::kArrays, FolderKind::kFlatArrays}) {
    const auto index = Find(kind);
    ASSERT_TRUE(index.ok()) << index.status();
    EXPECT_THAT(Names(**index), ElementsAre("B.NPY", "a10.npy", "a2.npy",
                                            "b.npy", "\u00e9.npy"));
    EXPECT_TRUE((*index)->is_flat());
    EXPECT_THAT((*index)->classes(), IsEmpty());
    EXPECT_EQ((*index)->PathLengthOf(0), 5);
  }
}

TEST_F(ArrayFolderTest, FoldersAreClasses) {
  for (const std::string name :
       {"b/1.npy", "a/deep/2.npy", "a/1.npy", "a/image.jpg", "notes.txt"}) {
    Write(name);
  }
  for (const FolderKind kind :
       {FolderKind::kArrays, FolderKind::kClassArrays}) {
    const auto index = Find(kind);
    ASSERT_TRUE(index.ok()) << index.status();
    EXPECT_THAT(Names(**index),
                ElementsAre("a/1.npy", "a/deep/2.npy", "b/1.npy"));
    EXPECT_THAT((*index)->classes(), ElementsAre("a", "b"));
    EXPECT_FALSE((*index)->is_flat());
    EXPECT_EQ((*index)->LabelOf(2), 1);
  }
  EXPECT_EQ(Refusal(FolderKind::kFlatArrays, absl::StatusCode::kNotFound),
            "found no .npy file in it");
}

TEST_F(ArrayFolderTest, BothKindsAtOnceNeedAChoice) {
  Write("mean.npy");
  Write("a/1.npy");
  Write("b/1.npy");
  EXPECT_EQ(Refusal(FolderKind::kArrays, absl::StatusCode::kInvalidArgument),
            ".npy files lie right in it and in the folder a: say whether "
            "folders are classes, by labels=True or labels=False");
  EXPECT_THAT(Names(**Find(FolderKind::kFlatArrays)), ElementsAre("mean.npy"));
  EXPECT_THAT(Names(**Find(FolderKind::kClassArrays)),
              ElementsAre("a/1.npy", "b/1.npy"));
}

TEST_F(ArrayFolderTest, SaysWhatIsMissing) {
  Write("notes.txt");
  EXPECT_EQ(Refusal(FolderKind::kArrays, absl::StatusCode::kNotFound),
            "found no .npy file in it");
  Write("a/1.npy");
  Write("b/1.jpg");
  EXPECT_EQ(Refusal(FolderKind::kArrays, absl::StatusCode::kNotFound),
            "found no valid file for the classes b; supported extensions are "
            ".npy");
}

TEST_F(ArrayFolderTest, KnowsTheLengthsOfFiles) {
  Write("1.npy", "four");
  Write("2.npy", "seventeen bytes..");
  const auto index = Find(FolderKind::kArrays);
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ((*index)->smallest_sample(), 4);
  EXPECT_EQ((*index)->largest_sample(), 17);
}

TEST_F(ArrayFolderTest, AFlatFolderIsLookedAtAgain) {
  Write("1.npy");
  Write("2.npy");
  const auto root = tree_.Root("data");
  const auto index = *ScanFolder(*root, Options(FolderKind::kArrays));
  std::vector<std::string> warnings;
  EXPECT_TRUE(IsUnchanged(*root, *index, {}, &warnings));
  tree_.Write("data/2.npy", "longer");
  EXPECT_FALSE(IsUnchanged(*root, *index, {}, &warnings));
  EXPECT_EQ(warnings.size(), 1);
}

TEST_F(ArrayFolderTest, AFlatIndexIsKept) {
  Write("1.npy");
  Write("2.npy");
  const auto index = *Find(FolderKind::kArrays);
  const std::string bytes = EncodeFolderIndex(*index, 9);
  base::WorkingMemory memory(base::AmpleBudget(), "an index");
  IndexFileReader file(absl::MakeConstSpan(
      reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
  const auto again = DecodeFolderIndex(file, 9, memory);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->version(), index->version());
  EXPECT_EQ(Names(**again), Names(*index));
}

TEST_F(ArrayFolderTest, TheCatalogMakesItsFields) {
  Write("a/1.npy", "four");
  Write("b/1.npy", "threes");
  CatalogOptions options;
  options.lister = &lister_;
  options.wall_clock = [] { return std::int64_t{0}; };
  options.budget = base::AmpleBudget();
  FolderCatalog folders(options);
  proto::DatasetSpec spec;
  spec.set_format(proto::DatasetSpec::NPY);
  std::vector<std::string> warnings;
  auto dataset = folders.Open(lister_.root(), spec, &warnings, {});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ASSERT_EQ((*dataset)->fields().size(), 2);
  const Field& array = (*dataset)->fields()[0];
  EXPECT_EQ(array.name, "array");
  EXPECT_EQ(array.kind, proto::FieldKind::kArray);
  EXPECT_TRUE(array.ragged());
  EXPECT_EQ(array.longest, 6);
  EXPECT_EQ(array.shortest, 4);
  EXPECT_EQ((*dataset)->fields()[1].name, "label");
  spec.add_fields("array");
  EXPECT_EQ(folders.Open(lister_.root(), spec, &warnings, {}).status().code(),
            absl::StatusCode::kNotFound);
  spec.add_fields("image");
  EXPECT_EQ(folders.Open(lister_.root(), spec, &warnings, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(ArrayFolderTest, AudioFilesLieInClassFoldersOrRightInTheRoot) {
  for (const char* const name :
       {"a/1.wav", "a/2.FLAC", "b/1.ogg", "b/c/1.opus", "b/2.npy", "b/2.jpg"})
    Write(name);
  const IndexOr classes = Find(FolderKind::kClassAudio);
  ASSERT_TRUE(classes.ok()) << classes.status();
  EXPECT_THAT(Names(**classes),
              ElementsAre("a/1.wav", "a/2.FLAC", "b/1.ogg", "b/c/1.opus"));
  EXPECT_EQ(Refusal(FolderKind::kFlatAudio, absl::StatusCode::kNotFound),
            "found no audio file in it");
  Write("z.mp3");
  const IndexOr flat = Find(FolderKind::kFlatAudio);
  ASSERT_TRUE(flat.ok()) << flat.status();
  EXPECT_THAT(Names(**flat), ElementsAre("z.mp3"));
  EXPECT_TRUE((*flat)->is_flat());
}

TEST_F(ArrayFolderTest, TheCatalogTellsAudioFromImages) {
  Write("a/1.wav", "four");
  Write("b/1.flac", "threes");
  CatalogOptions options;
  options.lister = &lister_;
  options.wall_clock = [] { return std::int64_t{0}; };
  options.budget = base::AmpleBudget();
  FolderCatalog folders(options);
  proto::DatasetSpec spec;
  spec.set_format(proto::DatasetSpec::IMAGE_FOLDER);
  std::vector<std::string> warnings;
  EXPECT_EQ(folders.Open(lister_.root(), spec, &warnings, {}).status().code(),
            absl::StatusCode::kNotFound);
  spec.add_fields("audio");
  spec.add_fields("label");
  const auto dataset = folders.Open(lister_.root(), spec, &warnings, {});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ASSERT_EQ((*dataset)->fields().size(), 2);
  EXPECT_EQ((*dataset)->fields()[0].name, "audio");
  EXPECT_EQ((*dataset)->fields()[0].kind, proto::FieldKind::kAudio);
  EXPECT_EQ((*dataset)->fields()[0].longest, 6);
  spec.set_fields(1, "class");
  EXPECT_EQ(folders.Open(lister_.root(), spec, &warnings, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace forebay::dataset::folder

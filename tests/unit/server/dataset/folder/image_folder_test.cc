#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/dataset/folder/folder_scan.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset::folder {
namespace {

using testing::HasSubstr;

struct TreeEntry {
  char kind;
  std::string path;
  std::string target;
};

struct GoldenTree {
  std::vector<TreeEntry> entries;
  std::vector<std::string> classes;
  std::vector<std::pair<std::string, std::int64_t>> samples;
  std::string error;
};

const GoldenTree kGolden[] = {
#include "tests/unit/server/dataset/folder/image_folder_golden.inc"
};

void Build(const ScratchTree& tree, const std::vector<TreeEntry>& entries) {
  for (const TreeEntry& entry : entries) {
    if (entry.kind == 'f') tree.Write(entry.path, "");
    if (entry.kind == 'd') tree.MakeDirectory(entry.path);
    if (entry.kind == 'l') tree.Link(entry.path, entry.target);
    if (entry.kind == 'p') tree.MakeFifo(entry.path);
  }
}

absl::StatusOr<std::shared_ptr<const FolderIndex>> Scan(
    const ScratchTree& tree, std::string_view path = "", int threads = 3) {
  ScanOptions options;
  options.threads = threads;
  options.link_context = 77;
  options.budget = base::AmpleBudget();
  return ScanFolder(*tree.Root(path), options);
}

std::string Refusal(const ScratchTree& tree, absl::StatusCode code) {
  const auto index = Scan(tree);
  EXPECT_EQ(index.status().code(), code) << index.status();
  return std::string(index.status().message());
}

TEST(ImageFolderTest, HoldsItsPartOfTheBudgetAndStopsWhereThatEnds) {
  ScratchTree tree;
  for (int i = 0; i < 500; ++i) {
    tree.Write("a/" + std::to_string(i) + std::string(200, 'x') + ".jpg", "");
  }
  base::MemoryBudget budget(std::uint64_t{1} << 20);
  ScanOptions options;
  options.budget = &budget;
  {
    const auto index = ScanFolder(*tree.Root(), options);
    ASSERT_TRUE(index.ok()) << index.status();
    EXPECT_EQ(budget.used(), (*index)->memory());
  }
  EXPECT_EQ(budget.used(), 0);
  const auto others = budget.Reserve(budget.limit() - 100'000, "others");
  const absl::Status status = ScanFolder(*tree.Root(), options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(tree.Root()->uri() + ": no memory for its index"));
}

TEST(ImageFolderTest, IsTorchvisions) {
  for (const GoldenTree& golden : kGolden) {
    SCOPED_TRACE(golden.entries.empty() ? "empty" : golden.entries[0].path);
    ScratchTree tree;
    Build(tree, golden.entries);
    for (const int threads : {1, 4}) {
      const auto index = Scan(tree, "", threads);
      if (!golden.error.empty()) {
        EXPECT_EQ(index.status().code(), absl::StatusCode::kNotFound)
            << index.status();
        continue;
      }
      ASSERT_TRUE(index.ok()) << index.status();
      EXPECT_EQ((*index)->classes(), golden.classes);
      std::vector<std::pair<std::string, std::int64_t>> samples;
      for (std::uint64_t id = 0; id < (*index)->size(); ++id) {
        samples.emplace_back((*index)->At(id).object, (*index)->LabelOf(id));
      }
      EXPECT_EQ(samples, golden.samples);
    }
  }
}

TEST(ImageFolderTest, KnowsSizesAndTimes) {
  ScratchTree tree;
  tree.Write("a/1.jpg", "four");
  tree.Write("a/2.jpg", "");
  tree.Write("b/3.jpg", std::string(100000, 'x'));
  tree.Link("b/4.jpg", "../a/1.jpg");
  tree.MakeFifo("b/5.jpg");
  tree.Link("b/6.jpg", "/dev/null");
  const auto index = Scan(tree);
  ASSERT_TRUE(index.ok()) << index.status();
  ASSERT_EQ((*index)->size(), 6);
  const std::vector<std::uint64_t> lengths = {4, 0, 100000, 4, 0, 0};
  for (std::uint64_t id = 0; id < 6; ++id) {
    const Sample sample = (*index)->At(id);
    EXPECT_EQ(sample.length, lengths[id]);
    EXPECT_EQ(sample.version.size, lengths[id]);
    EXPECT_EQ(sample.offset, 0);
    const auto stat = tree.Root()->Stat(sample.object);
    if (!stat.ok()) continue;
    EXPECT_EQ(sample.version.stamp, stat->version().stamp);
  }
  EXPECT_EQ((*index)->largest_sample(), 100000);
  EXPECT_EQ((*index)->parts().link_context, 77);
}

TEST(ImageFolderTest, WithoutLinksTheirContextDoesNotMatter) {
  ScratchTree tree;
  tree.Write("a/1.jpg", "");
  const auto index = Scan(tree);
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ((*index)->parts().link_context, 0);
}

TEST(ImageFolderTest, NamesEmptyClasses) {
  ScratchTree tree;
  tree.Write("full/1.jpg", "");
  for (int i = 10; i < 22; ++i) {
    tree.MakeDirectory("class" + std::to_string(i));
  }
  EXPECT_EQ(Refusal(tree, absl::StatusCode::kNotFound),
            tree.path() +
                ": found no valid file for the classes class10, class11, "
                "class12, class13, class14, class15, class16, class17, "
                "class18, class19 and 2 more; supported extensions are .jpg, "
                ".jpeg, .png, .ppm, .bmp, .pgm, .tif, .tiff, .webp");
}

TEST(ImageFolderTest, RefusesARootWithoutClasses) {
  ScratchTree tree;
  tree.Write("1.jpg", "");
  EXPECT_EQ(Refusal(tree, absl::StatusCode::kNotFound),
            tree.path() + ": found no class folder in it");
}

TEST(ImageFolderTest, RefusesLoopsOfDirectories) {
  for (const char* target : {".", "..", "../..", "../../a/sub"}) {
    ScratchTree tree;
    tree.Write("a/sub/1.jpg", "");
    tree.Link("a/sub/loop", target);
    EXPECT_THAT(Refusal(tree, absl::StatusCode::kInvalidArgument),
                HasSubstr("a/sub/loop: a link makes this directory lie within "
                          "itself"));
  }
}

TEST(ImageFolderTest, RefusesDirectoryLinksThatLeave) {
  ScratchTree tree;
  tree.Write("a/1.jpg", "");
  tree.Link("b", "/usr");
  EXPECT_THAT(Refusal(tree, absl::StatusCode::kPermissionDenied),
              HasSubstr("b: leads outside"));
}

// While it lives, file modes count for this thread and those that it starts,
// even if they are root's.
class WithoutPrivilege {
 public:
  WithoutPrivilege() {
    EXPECT_EQ(syscall(SYS_capget, &header_, before_), 0);
    __user_cap_data_struct less[2] = {before_[0], before_[1]};
    less[0].effective &=
        ~((1U << CAP_DAC_OVERRIDE) | (1U << CAP_DAC_READ_SEARCH));
    EXPECT_EQ(syscall(SYS_capset, &header_, less), 0);
  }
  ~WithoutPrivilege() { EXPECT_EQ(syscall(SYS_capset, &header_, before_), 0); }

 private:
  __user_cap_header_struct header_ = {.version = _LINUX_CAPABILITY_VERSION_3,
                                      .pid = 0};
  __user_cap_data_struct before_[2];
};

TEST(ImageFolderTest, NamesDirectoriesThatCannotBeListed) {
  const WithoutPrivilege scope;
  ScratchTree tree;
  tree.Write("a/1.jpg", "");
  tree.Write("b/1.jpg", "");
  const std::string closed = tree.path() + "/b";
  ASSERT_EQ(chmod(closed.c_str(), 0), 0);
  EXPECT_THAT(Refusal(tree, absl::StatusCode::kPermissionDenied),
              HasSubstr(": b: "));
  ASSERT_EQ(chmod(closed.c_str(), 0700), 0);
}

TEST(ImageFolderTest, VersionFollowsNamesSizesTimesAndLabels) {
  ScratchTree tree;
  tree.Write("a/1.jpg", "x");
  tree.Write("b/1.jpg", "x");
  const auto version = [&] {
    const auto index = Scan(tree);
    EXPECT_TRUE(index.ok()) << index.status();
    return (*index)->version();
  };
  const auto touch = [&](const char* name, std::int64_t nanos) {
    const timespec times[2] = {{1, 0}, {5, nanos}};
    const std::string path = tree.path() + "/" + name;
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  };
  touch("a/1.jpg", 0);
  touch("b/1.jpg", 0);
  const Version first = version();
  EXPECT_EQ(version(), first);
  tree.MakeDirectory("a/empty");
  tree.Write("a/text", "");
  EXPECT_EQ(version(), first);
  touch("b/1.jpg", 1);
  const Version touched = version();
  EXPECT_NE(touched, first);
  tree.Write("b/1.jpg", "xx");
  touch("b/1.jpg", 1);
  EXPECT_NE(version(), touched);
  tree.Write("b/1.jpg", "x");
  touch("b/1.jpg", 0);
  EXPECT_EQ(version(), first);
  tree.Write("aa/1.jpg", "x");
  const Version relabelled = version();
  EXPECT_NE(relabelled, first);
  tree.Remove("aa");
  EXPECT_EQ(version(), first);
}

}  // namespace
}  // namespace forebay::dataset::folder

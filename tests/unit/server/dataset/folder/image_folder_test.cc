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

#include "server/dataset/folder/folder_scan.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset::folder {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

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
  CHECK_THAT(index, HasCode(code));
  return std::string(index.status().message());
}

TEST_CASE(
    "An image folder's index holds its part of the budget and stops where that "
    "ends",
    "[folder][image_folder]") {
  ScratchTree tree;
  for (int i = 0; i < 500; ++i) {
    tree.Write("a/" + std::to_string(i) + std::string(200, 'x') + ".jpg", "");
  }
  base::MemoryBudget budget(std::uint64_t{1} << 20);
  ScanOptions options;
  options.budget = &budget;
  {
    const auto index = ScanFolder(*tree.Root(), options);
    REQUIRE_THAT(index, IsOk());
    CHECK(budget.used() == (*index)->memory());
  }
  CHECK(budget.used() == 0);
  const auto others = budget.Reserve(budget.limit() - 100'000, "others");
  const absl::Status status = ScanFolder(*tree.Root(), options).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_THAT(status.message(),
             Contains(tree.Root()->uri() + ": no memory for its index"));
}

TEST_CASE("An image folder has the same classes and samples as torchvision's",
          "[folder][image_folder]") {
  for (const GoldenTree& golden : kGolden) {
    INFO((golden.entries.empty() ? "empty" : golden.entries[0].path));
    ScratchTree tree;
    Build(tree, golden.entries);
    for (const int threads : {1, 4}) {
      const auto index = Scan(tree, "", threads);
      if (!golden.error.empty()) {
        CHECK_THAT(index, HasCode(absl::StatusCode::kNotFound));
        continue;
      }
      REQUIRE_THAT(index, IsOk());
      CHECK((*index)->classes() == golden.classes);
      std::vector<std::pair<std::string, std::int64_t>> samples;
      for (std::uint64_t id = 0; id < (*index)->size(); ++id) {
        samples.emplace_back((*index)->At(id).object, (*index)->LabelOf(id));
      }
      CHECK(samples == golden.samples);
    }
  }
}

TEST_CASE("An image folder's index knows the sizes and times of files",
          "[folder][image_folder]") {
  ScratchTree tree;
  tree.Write("a/1.jpg", "four");
  tree.Write("a/2.jpg", "");
  tree.Write("b/3.jpg", std::string(100000, 'x'));
  tree.Link("b/4.jpg", "../a/1.jpg");
  tree.MakeFifo("b/5.jpg");
  tree.Link("b/6.jpg", "/dev/null");
  const auto index = Scan(tree);
  REQUIRE_THAT(index, IsOk());
  REQUIRE((*index)->size() == 6);
  const std::vector<std::uint64_t> lengths = {4, 0, 100000, 4, 0, 0};
  for (std::uint64_t id = 0; id < 6; ++id) {
    const Sample sample = (*index)->At(id);
    CHECK(sample.length == lengths[id]);
    CHECK(sample.version.size == lengths[id]);
    CHECK(sample.offset == 0);
    const auto stat = tree.Root()->Stat(sample.object);
    if (!stat.ok()) continue;
    CHECK(sample.version.stamp == stat->version().stamp);
  }
  CHECK((*index)->largest_sample() == 100000);
  CHECK((*index)->parts().link_context == 77);
}

TEST_CASE("The link context of an image folder without links does not matter",
          "[folder][image_folder]") {
  ScratchTree tree;
  tree.Write("a/1.jpg", "");
  const auto index = Scan(tree);
  REQUIRE_THAT(index, IsOk());
  CHECK((*index)->parts().link_context == 0);
}

TEST_CASE("An image folder's scan names empty classes",
          "[folder][image_folder]") {
  ScratchTree tree;
  tree.Write("full/1.jpg", "");
  for (int i = 10; i < 22; ++i) {
    tree.MakeDirectory("class" + std::to_string(i));
  }
  CHECK(Refusal(tree, absl::StatusCode::kNotFound) ==
        tree.path() +
            ": found no valid file for the classes class10, class11, "
            "class12, class13, class14, class15, class16, class17, "
            "class18, class19 and 2 more; supported extensions are .jpg, "
            ".jpeg, .png, .ppm, .bmp, .pgm, .tif, .tiff, .webp");
}

TEST_CASE("An image folder's scan refuses a root without classes",
          "[folder][image_folder]") {
  ScratchTree tree;
  tree.Write("1.jpg", "");
  CHECK(Refusal(tree, absl::StatusCode::kNotFound) ==
        tree.path() + ": found no class folder in it");
}

TEST_CASE("An image folder's scan refuses loops of directories",
          "[folder][image_folder]") {
  for (const char* target : {".", "..", "../..", "../../a/sub"}) {
    ScratchTree tree;
    tree.Write("a/sub/1.jpg", "");
    tree.Link("a/sub/loop", target);
    CHECK_THAT(Refusal(tree, absl::StatusCode::kInvalidArgument),
               Contains("a/sub/loop: a link makes this directory lie within "
                        "itself"));
  }
}

TEST_CASE("An image folder's scan refuses directory links that leave the root",
          "[folder][image_folder]") {
  ScratchTree tree;
  tree.Write("a/1.jpg", "");
  tree.Link("b", "/usr");
  CHECK_THAT(Refusal(tree, absl::StatusCode::kPermissionDenied),
             Contains("b: leads outside"));
}

// While the object lives, file modes apply to this thread and the threads that
// it starts, even if root runs them.
class WithoutPrivilege {
 public:
  WithoutPrivilege() {
    CHECK(syscall(SYS_capget, &header_, before_) == 0);
    __user_cap_data_struct less[2] = {before_[0], before_[1]};
    less[0].effective &=
        ~((1U << CAP_DAC_OVERRIDE) | (1U << CAP_DAC_READ_SEARCH));
    CHECK(syscall(SYS_capset, &header_, less) == 0);
  }
  ~WithoutPrivilege() { CHECK(syscall(SYS_capset, &header_, before_) == 0); }

 private:
  __user_cap_header_struct header_ = {.version = _LINUX_CAPABILITY_VERSION_3,
                                      .pid = 0};
  __user_cap_data_struct before_[2];
};

TEST_CASE("An image folder's scan names directories that cannot be listed",
          "[folder][image_folder]") {
  const WithoutPrivilege scope;
  ScratchTree tree;
  tree.Write("a/1.jpg", "");
  tree.Write("b/1.jpg", "");
  const std::string closed = tree.path() + "/b";
  REQUIRE(chmod(closed.c_str(), 0) == 0);
  CHECK_THAT(Refusal(tree, absl::StatusCode::kPermissionDenied),
             Contains(": b: "));
  REQUIRE(chmod(closed.c_str(), 0700) == 0);
}

TEST_CASE(
    "An image folder's version follows names and sizes and times and labels",
    "[folder][image_folder]") {
  ScratchTree tree;
  tree.Write("a/1.jpg", "x");
  tree.Write("b/1.jpg", "x");
  const auto version = [&] {
    const auto index = Scan(tree);
    CHECK_THAT(index, IsOk());
    return (*index)->version();
  };
  const auto touch = [&](const char* name, std::int64_t nanos) {
    const timespec times[2] = {{1, 0}, {5, nanos}};
    const std::string path = tree.path() + "/" + name;
    REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
  };
  touch("a/1.jpg", 0);
  touch("b/1.jpg", 0);
  const Version first = version();
  CHECK(version() == first);
  tree.MakeDirectory("a/empty");
  tree.Write("a/text", "");
  CHECK(version() == first);
  touch("b/1.jpg", 1);
  const Version touched = version();
  CHECK(touched != first);
  tree.Write("b/1.jpg", "xx");
  touch("b/1.jpg", 1);
  CHECK(version() != touched);
  tree.Write("b/1.jpg", "x");
  touch("b/1.jpg", 0);
  CHECK(version() == first);
  tree.Write("aa/1.jpg", "x");
  const Version relabelled = version();
  CHECK(relabelled != first);
  tree.Remove("aa");
  CHECK(version() == first);
}

}  // namespace
}  // namespace forebay::dataset::folder

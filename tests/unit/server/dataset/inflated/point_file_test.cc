#include "server/dataset/inflated/point_file.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/base/crc32c.h"
#include "server/storage/inflated/windows.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/storage/inflated/packed_files.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::dataset::inflated {
namespace {

using storage::ListedObject;
using storage::inflated::AccessPoint;
using storage::inflated::AsBytes;
using storage::inflated::FilePoints;
using storage::inflated::InflatedFile;
using storage::inflated::PackKept;

class PointFileTest : public testing::Test {
 protected:
  // Points of the second and the third of three files.
  absl::StatusOr<PointsPtr> Write(const std::string& path) {
    PointFileWriter writer(path, &memory_);
    std::vector<std::optional<InflatedFile>> found(3);
    for (const std::size_t file : {1, 2}) {
      found[file].emplace();
      found[file]->size = 5'000'000;
      found[file]->points = {{}};
      for (std::uint64_t i = 1; i < 4; ++i) {
        const std::string window = WindowOf(file * 10 + i);
        AccessPoint point = {.offset = i * 1'000'000, .bit = i * 3001};
        point.window_bytes =
            static_cast<std::uint32_t>(PackKept(AsBytes(window)).size());
        point.window_crc32c = base::Crc32c(AsBytes(window));
        const auto at = writer.Add(PackKept(AsBytes(window)));
        if (!at.ok()) return at.status();
        point.window_offset = *at;
        found[file]->points.push_back(point);
      }
    }
    const std::vector<ListedObject> files = {
        {"a", {.size = 7}}, {"b.gz", {.size = 2000}}, {"c.gz", {.size = 3000}}};
    return writer.Finish(files, std::move(found));
  }

  static std::string WindowOf(std::uint64_t seed) {
    return storage::inflated::Noise(1000 * seed,
                                    static_cast<std::uint32_t>(seed));
  }

  static void ExpectPoints(const FilePoints& points) {
    EXPECT_EQ(points.Find("a"), nullptr);
    const auto* const file = points.Find("c.gz");
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(file->packed_size, 3000);
    EXPECT_EQ(file->size, 5'000'000);
    const auto all = points.PointsOf(*file);
    ASSERT_EQ(all.size(), 4);
    EXPECT_EQ(all[2].bit, 6002);
    EXPECT_EQ(*points.WindowOf(all[2]), WindowOf(22));
    EXPECT_EQ(*points.WindowOf(all[0]), "");
  }

  base::WorkingMemory memory_{base::AmpleBudget(), "points"};
  storage::local::ScratchDir folder_;
};

TEST_F(PointFileTest, KeepsPointsInMemoryOrInAFile) {
  const auto in_memory = Write("");
  ASSERT_TRUE(in_memory.ok()) << in_memory.status();
  ExpectPoints(**in_memory);
  const std::string path = folder_.Path("new/index.points");
  const auto in_file = Write(path);
  ASSERT_TRUE(in_file.ok()) << in_file.status();
  ExpectPoints(**in_file);
  const auto loaded = LoadPoints(path, memory_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ExpectPoints(**loaded);
  EXPECT_EQ((*loaded)->digest(), (*in_file)->digest());
  // The points have it open.
  std::filesystem::remove(path);
  ExpectPoints(**loaded);
  EXPECT_TRUE(absl::IsNotFound(LoadPoints(path, memory_).status()));
}

TEST_F(PointFileTest, LeavesNoHalfOfAFile) {
  {
    PointFileWriter writer(folder_.Path("index.points"), &memory_);
    ASSERT_TRUE(writer.Add("a window").ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.Path()));
}

// Nor if the daemon is killed meanwhile: a long frame's pieces may be
// gigabytes.
TEST_F(PointFileTest, LeavesNoHalfOfAFileWhenItIsKilled) {
  const std::string path = folder_.Path("index.points");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    PointFileWriter writer(path, &memory_);
    if (writer.Add("a window").ok()) raise(SIGKILL);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.Path()));
}

// As on a full disk, which takes some bytes.
TEST_F(PointFileTest, WhatAFileDoesNotTakeIsInMemory) {
  struct rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  // The last one has room for all windows, and not for the table behind them.
  for (const rlim_t bytes : {20'000, 0, 102'200}) {
    SCOPED_TRACE(bytes);
    const struct rlimit few = {.rlim_cur = bytes, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &few), 0);
    const auto points = Write(folder_.Path("index.points"));
    setrlimit(RLIMIT_FSIZE, &before);
    ASSERT_TRUE(points.ok()) << points.status();
    ExpectPoints(**points);
    EXPECT_TRUE(std::filesystem::is_empty(folder_.Path()));
  }
  signal(SIGXFSZ, handler);
}

TEST_F(PointFileTest, MakesNoFileWithoutPoints) {
  PointFileWriter writer(folder_.Path("index.points"), &memory_);
  const std::vector<ListedObject> files = {{"a", {.size = 7}}};
  const auto none = writer.Finish(files, {std::nullopt});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(*none, nullptr);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.Path()));
}

TEST_F(PointFileTest, FindsEveryDamage) {
  const std::string path = folder_.Path("index.points");
  ASSERT_TRUE(Write(path).ok());
  std::ifstream file(path, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  const auto load = [&](const std::string& content) {
    folder_.Write("index.points", content);
    return LoadPoints(path, memory_).status();
  };
  EXPECT_TRUE(load(whole).ok());
  // Its header, two files, eight points, names, checksum and length.
  const std::size_t table = whole.size() - (48 + 96 + 256 + 8 + 16 + 8);
  for (std::size_t at = table; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] ^= 0x10;
    EXPECT_TRUE(absl::IsDataLoss(load(damaged))) << at;
  }
  for (std::size_t size = 0; size < whole.size(); size += 97)
    EXPECT_TRUE(absl::IsDataLoss(load(whole.substr(0, size)))) << size;
  // A window is checked when it is wanted.
  std::string damaged = whole;
  damaged[100] ^= 1;
  folder_.Write("index.points", damaged);
  const auto points = LoadPoints(path, memory_);
  ASSERT_TRUE(points.ok());
  const auto first = (*points)->PointsOf(*(*points)->Find("b.gz"))[1];
  EXPECT_TRUE(absl::IsDataLoss((*points)->WindowOf(first).status()));
}

TEST_F(PointFileTest, TiesAnIndexToItsPoints) {
  const auto points = Write("");
  ASSERT_TRUE(points.ok());
  std::string bytes;
  const auto take = [&](const FindPoints& find) {
    std::string file = bytes;
    SealIndexFile(file);
    IndexFileReader reader(AsBytes(file));
    return TakePoints(reader, find);
  };
  AppendPoints(bytes, nullptr);
  EXPECT_EQ(bytes, "");
  EXPECT_EQ(*take(nullptr), nullptr);
  AppendPoints(bytes, *points);
  const auto find = [&]() -> absl::StatusOr<PointsPtr> { return *points; };
  EXPECT_EQ(*take(find), *points);
  EXPECT_TRUE(absl::IsDataLoss(take(nullptr).status()));
  bytes[3] ^= 1;
  EXPECT_TRUE(absl::IsDataLoss(take(find).status()));
  bytes.pop_back();
  EXPECT_TRUE(absl::IsDataLoss(take(find).status()));
}

}  // namespace
}  // namespace forebay::dataset::inflated

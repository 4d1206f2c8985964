#include "server/dataset/compressed/point_file.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "server/base/crc32c.h"
#include "server/storage/compressed/point_windows.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/storage/compressed/compressed_files.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::dataset::compressed {
namespace {

using tests::HasCode;
using tests::IsOk;

using storage::ListedObject;
using storage::compressed::AccessPoint;
using storage::compressed::AsBytes;
using storage::compressed::CompressOrStore;
using storage::compressed::DecompressedFile;
using storage::compressed::FilePoints;

class PointFileTest {
 protected:
  // Writes access points of the second and the third of three files.
  absl::StatusOr<PointsPtr> Write(const std::string& path) {
    PointFileWriter writer(path, &memory_);
    std::vector<std::optional<DecompressedFile>> found(3);
    for (const std::size_t file : {1, 2}) {
      found[file].emplace();
      found[file]->size = 5'000'000;
      found[file]->points = {{}};
      for (std::uint64_t i = 1; i < 4; ++i) {
        const std::string window = WindowOf(file * 10 + i);
        AccessPoint point = {.offset = i * 1'000'000, .bit = i * 3001};
        point.window_bytes =
            static_cast<std::uint32_t>(CompressOrStore(AsBytes(window)).size());
        point.window_crc32c = base::Crc32c(AsBytes(window));
        const auto at = writer.Add(CompressOrStore(AsBytes(window)));
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
    return storage::compressed::Noise(1000 * seed,
                                      static_cast<std::uint32_t>(seed));
  }

  static void ExpectPoints(const FilePoints& points) {
    CHECK(points.Find("a") == nullptr);
    const auto* const file = points.Find("c.gz");
    REQUIRE(file != nullptr);
    CHECK(file->compressed_size == 3000);
    CHECK(file->size == 5'000'000);
    const auto all = points.PointsOf(*file);
    REQUIRE(all.size() == 4);
    CHECK(all[2].bit == 6002);
    CHECK(*points.WindowOf(all[2]) == WindowOf(22));
    CHECK_THAT(*points.WindowOf(all[0]), Catch::Equals(""));
  }

  base::WorkingMemory memory_{base::AmpleBudget(), "points"};
  storage::local::ScratchDir folder_;
};

TEST_CASE_METHOD(PointFileTest,
                 "The point file writer keeps points in memory or in a file",
                 "[compressed][point_file]") {
  const auto in_memory = Write("");
  REQUIRE_THAT(in_memory, IsOk());
  ExpectPoints(**in_memory);
  const std::string path = folder_.Path("new/index.points");
  const auto in_file = Write(path);
  REQUIRE_THAT(in_file, IsOk());
  ExpectPoints(**in_file);
  const auto loaded = LoadPoints(path, memory_);
  REQUIRE_THAT(loaded, IsOk());
  ExpectPoints(**loaded);
  CHECK((*loaded)->digest() == (*in_file)->digest());
  // The loaded points hold the file open, so the file may be removed.
  std::filesystem::remove(path);
  ExpectPoints(**loaded);
  CHECK_THAT(LoadPoints(path, memory_), HasCode(absl::StatusCode::kNotFound));
}

TEST_CASE_METHOD(PointFileTest,
                 "The point file writer leaves no half of a file",
                 "[compressed][point_file]") {
  {
    PointFileWriter writer(folder_.Path("index.points"), &memory_);
    REQUIRE_THAT(writer.Add("a window"), IsOk());
  }
  CHECK(std::filesystem::is_empty(folder_.Path()));
}

// A killed daemon leaves no file behind, either. The pieces of a long frame may
// be gigabytes.
TEST_CASE_METHOD(
    PointFileTest,
    "The point file writer leaves no half of a file when it is killed",
    "[compressed][point_file]") {
  const std::string path = folder_.Path("index.points");
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    PointFileWriter writer(path, &memory_);
    if (writer.Add("a window").ok()) raise(SIGKILL);
    _exit(1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  CHECK(std::filesystem::is_empty(folder_.Path()));
}

// The limit of the file size acts like a full disk that still takes some bytes.
TEST_CASE_METHOD(
    PointFileTest,
    "The point file writer keeps in memory what a file does not take",
    "[compressed][point_file]") {
  struct rlimit before = {};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  // The last limit is enough for all windows, but not for the table after them.
  for (const rlim_t bytes : {20'000, 0, 102'200}) {
    CAPTURE(bytes);
    const struct rlimit few = {.rlim_cur = bytes, .rlim_max = before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &few) == 0);
    const auto points = Write(folder_.Path("index.points"));
    setrlimit(RLIMIT_FSIZE, &before);
    REQUIRE_THAT(points, IsOk());
    ExpectPoints(**points);
    CHECK(std::filesystem::is_empty(folder_.Path()));
  }
  signal(SIGXFSZ, handler);
}

TEST_CASE_METHOD(PointFileTest,
                 "The point file writer makes no file without points",
                 "[compressed][point_file]") {
  PointFileWriter writer(folder_.Path("index.points"), &memory_);
  const std::vector<ListedObject> files = {{"a", {.size = 7}}};
  const auto none = writer.Finish(files, {std::nullopt});
  REQUIRE_THAT(none, IsOk());
  CHECK(*none == nullptr);
  CHECK(std::filesystem::is_empty(folder_.Path()));
}

TEST_CASE_METHOD(PointFileTest, "The point file reader finds every damage",
                 "[compressed][point_file]") {
  const std::string path = folder_.Path("index.points");
  REQUIRE_THAT(Write(path), IsOk());
  std::ifstream file(path, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  const auto load = [&](const std::string& content) {
    folder_.Write("index.points", content);
    return LoadPoints(path, memory_).status();
  };
  CHECK_THAT(load(whole), IsOk());
  // The table consists of a header, two files, eight points, names, a checksum
  // and the table's length.
  const std::size_t table = whole.size() - (48 + 96 + 256 + 8 + 16 + 8);
  for (std::size_t at = table; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] ^= 0x10;
    CAPTURE(at);
    CHECK_THAT(load(damaged), HasCode(absl::StatusCode::kDataLoss));
  }
  for (std::size_t size = 0; size < whole.size(); size += 97) {
    CAPTURE(size);
    CHECK_THAT(load(whole.substr(0, size)),
               HasCode(absl::StatusCode::kDataLoss));
  }
  // A window is checked when it is read.
  std::string damaged = whole;
  damaged[100] ^= 1;
  folder_.Write("index.points", damaged);
  const auto points = LoadPoints(path, memory_);
  REQUIRE_THAT(points, IsOk());
  const auto first = (*points)->PointsOf(*(*points)->Find("b.gz"))[1];
  CHECK_THAT((*points)->WindowOf(first), HasCode(absl::StatusCode::kDataLoss));
}

TEST_CASE_METHOD(PointFileTest,
                 "A digest of points ties an index to its points",
                 "[compressed][point_file]") {
  const auto points = Write("");
  REQUIRE_THAT(points, IsOk());
  std::string bytes;
  const auto take = [&](const FindPoints& find) {
    std::string file = bytes;
    SealIndexFile(file);
    IndexFileReader reader(AsBytes(file));
    return TakePoints(reader, find);
  };
  AppendPoints(bytes, nullptr);
  CHECK_THAT(bytes, Catch::Equals(""));
  CHECK(*take(nullptr) == nullptr);
  AppendPoints(bytes, *points);
  const auto find = [&]() -> absl::StatusOr<PointsPtr> { return *points; };
  CHECK(*take(find) == *points);
  CHECK_THAT(take(nullptr), HasCode(absl::StatusCode::kDataLoss));
  bytes[3] ^= 1;
  CHECK_THAT(take(find), HasCode(absl::StatusCode::kDataLoss));
  bytes.pop_back();
  CHECK_THAT(take(find), HasCode(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace forebay::dataset::compressed

// Tests that the tier gives right bytes whatever fault the tier's disk has.

#include <fstream>
#include <random>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/cache/disk/disk_house.h"

namespace forebay::cache::disk {
namespace {

using tests::HasCode;
using tests::IsEmpty;
using tests::SizeIs;

constexpr std::uint64_t kSegment = 16 * kPageBytes;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr int kObjects = 12;

class DiskCacheFaultsTest {
 protected:
  DiskCacheFaultsTest() {
    for (int i = 0; i < kObjects; ++i) {
      const std::string name = "object" + std::to_string(i);
      requests_.push_back(
          house_.Request(name, house_.Put(name, 100 + 3'000 * i)));
    }
  }

  // Reads all objects and checks their bytes.
  void ReadAll() {
    for (const storage::ReadRequest& request : requests_) {
      REQUIRE(house_.Text(request) == house_.Truth(request));
    }
    house_.Settle();
  }
  DiskSnapshot Counted() { return house_.cache().Snapshot(); }

  static std::string ContentOf(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void Overwrite(const std::filesystem::path& path,
                        const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
  }

  DiskHouse house_{64 * kSegment, kSegment};
  std::vector<storage::ReadRequest> requests_;
};

TEST_CASE_METHOD(DiskCacheFaultsTest,
                 "A flipped bit costs the disk cache at most what it is in",
                 "[disk][disk_cache_faults]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  ReadAll();
  for (int round = 0; round < 60; ++round) {
    house_.Close();
    const auto segments = house_.Segments();
    const auto& path = segments[random() % segments.size()];
    std::string content = ContentOf(path);
    content[random() % content.size()] ^= static_cast<char>(1u << random() % 8);
    Overwrite(path, content);
    house_.Open();
    ReadAll();
    REQUIRE(Counted().used <= Counted().capacity);
  }
}

TEST_CASE_METHOD(
    DiskCacheFaultsTest,
    "The disk cache reads damaged entries from below and keeps them anew",
    "[disk][disk_cache_faults]") {
  ReadAll();
  // The test changes the files behind the tier's back, so the index does not
  // match them.
  for (const auto& path : house_.Segments()) {
    std::string content = ContentOf(path);
    for (std::size_t i = kPageBytes; i < content.size(); i += 100) {
      content[i] ^= 0x40;
    }
    std::ofstream file(path, std::ios::binary | std::ios::in);
    file << content;
  }
  ReadAll();
  CHECK(Counted().damaged == kObjects);
  CHECK(Counted().hits.reads == 0);
  CHECK_FALSE(Counted().off);
  ReadAll();
  CHECK(Counted().hits.reads == kObjects);
}

TEST_CASE_METHOD(DiskCacheFaultsTest,
                 "The disk cache removes segments that are truncated",
                 "[disk][disk_cache_faults]") {
  ReadAll();
  house_.Close();
  const auto segments = house_.Segments();
  std::uint64_t length = 0;
  for (const auto& path : segments) {
    std::filesystem::resize_file(path, length);
    length += kSegment / segments.size();
  }
  house_.Open();
  CHECK_THAT(house_.Segments(), IsEmpty());
  CHECK(Counted().entries == 0);
  ReadAll();
}

TEST_CASE_METHOD(DiskCacheFaultsTest,
                 "The disk cache removes segments that took each other's place",
                 "[disk][disk_cache_faults]") {
  ReadAll();
  house_.Close();
  const auto segments = house_.Segments();
  REQUIRE(segments.size() > 2);
  const std::string first = ContentOf(segments[0]);
  Overwrite(segments[0], ContentOf(segments[1]));
  Overwrite(segments[1], first);
  house_.Open();
  CHECK_THAT(house_.Segments(), SizeIs(segments.size() - 2));
  ReadAll();
}

// The header belongs to the file, but all records come from another segment.
TEST_CASE_METHOD(DiskCacheFaultsTest,
                 "The disk cache does not believe records of another segment",
                 "[disk][disk_cache_faults]") {
  ReadAll();
  house_.Close();
  const auto segments = house_.Segments();
  REQUIRE(segments.size() > 2);
  Overwrite(segments[0], ContentOf(segments[0]).substr(0, kPageBytes) +
                             ContentOf(segments[1]).substr(kPageBytes));
  house_.Open();
  CHECK_THAT(house_.Segments(), SizeIs(segments.size() - 1));
  ReadAll();
}

TEST_CASE_METHOD(
    DiskCacheFaultsTest,
    "Records of the disk cache make up for a segment's footer that is gone",
    "[disk][disk_cache_faults]") {
  ReadAll();
  house_.Close();
  for (const auto& path : house_.Segments()) {
    std::string content = ContentOf(path);
    content.replace(content.size() - kPageBytes, kPageBytes, kPageBytes, '\0');
    Overwrite(path, content);
  }
  house_.Open();
  CHECK(Counted().entries == kObjects);
  ReadAll();
  CHECK(Counted().hits.reads == kObjects);
}

TEST_CASE_METHOD(
    DiskCacheFaultsTest,
    "The disk cache leaves a disk that cannot be read alone for a while",
    "[disk][disk_cache_faults]") {
  ReadAll();
  house_.faults().read = EIO;
  ReadAll();
  CHECK(Counted().off);
  CHECK(Counted().failures == 4);
  const auto reads = house_.faults().reads_done.load();
  ReadAll();
  CHECK(house_.faults().reads_done == reads);
  house_.faults().read = 0;
  house_.clock().Advance(kSecond);
  CHECK_FALSE(Counted().off);
  ReadAll();
  ReadAll();
  CHECK(Counted().failures == 4);
  CHECK(Counted().entries == kObjects);
}

TEST_CASE_METHOD(
    DiskCacheFaultsTest,
    "The disk cache leaves a disk that cannot be written alone for a while",
    "[disk][disk_cache_faults]") {
  for (const int error : {EIO, ENOSPC, EROFS}) {
    house_.faults().write = error;
    ReadAll();
    CHECK(Counted().off);
    CHECK(Counted().entries == 0);
    CHECK_THAT(house_.Segments(), IsEmpty());
    house_.faults().write = 0;
    house_.clock().Advance(300 * kSecond);
  }
  ReadAll();
  CHECK(Counted().entries == kObjects);
  CHECK(Counted().failures == 3);
}

TEST_CASE_METHOD(
    DiskCacheFaultsTest,
    "A write of the disk cache that fails takes nothing along that was written",
    "[disk][disk_cache_faults]") {
  house_.faults().writes_before = 4;
  house_.faults().write = EIO;
  for (const storage::ReadRequest& request : requests_) {
    house_.ReadAndSettle(request);  // each read causes one write
  }
  CHECK(Counted().entries > 0);
  CHECK(Counted().entries < kObjects);
  house_.faults().write = 0;
  ReadAll();
  CHECK(Counted().hits.reads > 0);
  house_.clock().Advance(kSecond);
  ReadAll();
  house_.Reopen();
  CHECK(Counted().entries == kObjects);
}

TEST_CASE_METHOD(
    DiskCacheFaultsTest,
    "A full disk gets space back before the disk cache's next segment",
    "[disk][disk_cache_faults]") {
  ReadAll();
  const auto before = Counted();
  house_.faults().create = ENOSPC;
  house_.faults().creates_before = 0;
  for (int i = 0; i < 8 && Counted().failures == 0; ++i) {
    const std::string name = "more" + std::to_string(i);
    const auto request = house_.Request(name, house_.Put(name, 40'000));
    CHECK(house_.Text(request) == house_.Truth(request));
    house_.Settle();
  }
  CHECK(Counted().off);
  CHECK(Counted().used == before.used - kSegment);
  CHECK(Counted().evicted.reads > 0);
  house_.faults().create = 0;
  house_.clock().Advance(kSecond);
  ReadAll();
  ReadAll();
  CHECK(Counted().used == house_.Segments().size() * kSegment);
}

TEST_CASE_METHOD(DiskCacheFaultsTest,
                 "The disk cache goes on with reads and writes that are short "
                 "or interrupted",
                 "[disk][disk_cache_faults]") {
  house_.faults().short_moves = true;
  house_.faults().interrupted = 5;
  ReadAll();
  house_.faults().interrupted = 5;
  ReadAll();
  CHECK(Counted().hits.reads == kObjects);
  CHECK(Counted().failures == 0);
}

TEST_CASE_METHOD(DiskCacheFaultsTest,
                 "What the disk cache cannot make to last is still there",
                 "[disk][disk_cache_faults]") {
  house_.faults().sync = EIO;
  ReadAll();
  CHECK(Counted().off);
  house_.faults().sync = 0;
  ReadAll();
  CHECK(Counted().hits.reads > 0);
}

// Removal fails as on a file system that turned read-only.
TEST_CASE_METHOD(DiskCacheFaultsTest,
                 "A segment that the disk cache cannot remove keeps its space",
                 "[disk][disk_cache_faults]") {
  house_.Close();
  house_.set_capacity(2 * kSegment);
  house_.Open();
  house_.faults().remove = EROFS;
  for (int i = 0; i < 20; ++i) {
    house_.clock().Advance(1201 * kSecond);
    const std::string name = "more" + std::to_string(i);
    const auto request = house_.Request(name, house_.Put(name, 40'000));
    CHECK(house_.ReadAndSettle(request) == house_.Truth(request));
    REQUIRE(house_.Segments().size() <= 2);
    REQUIRE(Counted().used == house_.Segments().size() * kSegment);
  }
  CHECK(Counted().failures > 0);
}

TEST_CASE_METHOD(DiskCacheFaultsTest,
                 "The disk cache does not open a volume that cannot be listed",
                 "[disk][disk_cache_faults]") {
  house_.Close();
  house_.faults().list = EIO;
  CHECK_THAT(house_.TryOpen(), HasCode(absl::StatusCode::kUnavailable));
}

TEST_CASE_METHOD(
    DiskCacheFaultsTest,
    "The disk cache does not open a volume that keeps what it should not",
    "[disk][disk_cache_faults]") {
  ReadAll();
  house_.Close();
  Overwrite(house_.Segments()[0], std::string(kSegment, 'x'));
  house_.faults().remove = EROFS;
  CHECK_THAT(house_.TryOpen(), HasCode(absl::StatusCode::kUnavailable));
  house_.faults().remove = 0;
  house_.Open();
  ReadAll();
}

}  // namespace
}  // namespace forebay::cache::disk

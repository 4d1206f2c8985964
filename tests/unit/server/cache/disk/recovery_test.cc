#include "server/cache/disk/recovery.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/fd.h"
#include "server/cache/disk/record.h"
#include "server/cache/disk/segment_file.h"
#include "server/cache/disk/segment_format.h"
#include "server/cache/disk/volume.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::cache::disk {
namespace {

using tests::IsOk;

constexpr std::uint64_t kSerial = 7;
constexpr std::uint64_t kBytes = std::uint64_t{8} << 20;
constexpr std::uint64_t kCapacity = std::uint64_t{1} << 30;

// A volume that records the length of the longest read.
class MeasuredVolume final : public Volume {
 public:
  explicit MeasuredVolume(std::unique_ptr<Volume> inner)
      : inner_(std::move(inner)) {}

  const std::string& path() const override { return inner_->path(); }
  int List(std::vector<std::string>* names) override {
    return inner_->List(names);
  }
  int Create(const std::string& name, std::uint64_t bytes) override {
    return inner_->Create(name, bytes);
  }
  int Open(const std::string& name) override { return inner_->Open(name); }
  int Remove(const std::string& name) override { return inner_->Remove(name); }
  std::int64_t Size(int fd) override { return inner_->Size(fd); }
  ssize_t Pread(int fd, void* buffer, std::size_t length,
                off_t offset) override {
    longest_ = std::max(longest_, length);
    return inner_->Pread(fd, buffer, length, offset);
  }
  ssize_t Pwrite(int fd, const void* buffer, std::size_t length,
                 off_t offset) override {
    return inner_->Pwrite(fd, buffer, length, offset);
  }
  int Sync(int fd) override { return inner_->Sync(fd); }

  std::size_t longest() const { return longest_; }

 private:
  const std::unique_ptr<Volume> inner_;
  std::size_t longest_ = 0;
};

class RecoveryTest {
 protected:
  RecoveryTest() : volume_(*CacheDirectory::Lock(scratch_.Path("tier"))) {
    const int fd = volume_.Create(SegmentName(kSerial), kBytes);
    REQUIRE(fd >= 0);
    file_ = {base::Fd(fd), kSerial, kBytes};
    Write(EncodeSegmentHeader(kSerial, kBytes), 0);
  }

  // Writes whole pages.
  void Write(const std::string& pages, std::uint64_t offset) {
    const PageBuffer buffer(pages.size());
    std::memcpy(buffer.span().data(), pages.data(), pages.size());
    REQUIRE_THAT(WritePages(volume_, file_, buffer.span(), offset), IsOk());
  }

  // Returns the locations of `count` records.
  static std::vector<RecordLocation> Locations(std::size_t count) {
    std::vector<RecordLocation> locations(count);
    for (std::size_t i = 0; i < count; ++i)
      locations[i] = {i, static_cast<std::uint32_t>(kPageBytes), 96};
    return locations;
  }

  const storage::local::ScratchDir scratch_;
  MeasuredVolume volume_;
  SegmentFile file_;
};

TEST_CASE_METHOD(RecoveryTest,
                 "A footer with a damaged number of records takes no memory",
                 "[disk][recovery]") {
  Key key;
  key.root = "root";
  key.object = "object";
  key.length = 5;
  const std::string data = "bytes";
  std::string record = EncodeRecordHeader(
      key, kSerial,
      {reinterpret_cast<const std::uint8_t*>(data.data()), data.size()});
  absl::StrAppend(&record, data);
  record.resize(kPageBytes);
  Write(record, kPageBytes);
  // Only the last page of a footer of 6.4 MB lies on the disk.
  const std::string footer = EncodeFooter(kSerial, Locations(400'000));
  Write(footer.substr(footer.size() - kPageBytes), kBytes - kPageBytes);
  const auto segments = Recover(volume_, kCapacity);
  REQUIRE_THAT(segments, IsOk());
  REQUIRE(segments->size() == 1);
  UNSCOPED_INFO("records are found by their headers");
  CHECK_FALSE(segments->front().sealed);
  CHECK(segments->front().locations.size() == 1);
  CHECK(volume_.longest() <= std::size_t{1} << 20);
}

TEST_CASE_METHOD(RecoveryTest, "A footer of any length gives its records",
                 "[disk][recovery]") {
  for (const std::size_t count : {200'000, 4096, 255, 254, 1}) {
    CAPTURE(count);
    const std::string footer = EncodeFooter(kSerial, Locations(count));
    Write(footer, kBytes - footer.size());
    const auto segments = Recover(volume_, kCapacity);
    REQUIRE_THAT(segments, IsOk());
    REQUIRE(segments->size() == 1);
    CHECK(segments->front().sealed);
    REQUIRE(segments->front().locations.size() == count);
    CHECK(segments->front().locations.back().fingerprint == count - 1);
  }
}

}  // namespace
}  // namespace forebay::cache::disk

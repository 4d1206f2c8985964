#include "server/cache/disk/segment_writer.h"

#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::cache::disk {
namespace {

using tests::IsOk;

constexpr std::uint64_t kSegment = 64 * kPageBytes;
constexpr std::uint64_t kRecord = 256;
// The number of locations in a page of the footer, minus one.
constexpr std::size_t kBefore = 253;

Key KeyOf(std::uint64_t length) {
  return {.root = "root",
          .object = "object",
          .version = {length, 1},
          .offset = 0,
          .length = length};
}

// Returns the key of a record of `bytes` bytes.
Key KeyOfRecord(std::uint64_t bytes) {
  return KeyOf(bytes - RecordBytes(KeyOf(0)));
}

class SegmentWriterTest {
 protected:
  SegmentWriterTest() {
    const std::string name = SegmentName(1);
    file_ = std::make_shared<const SegmentFile>(SegmentFile{
        base::Fd(volume_->Create(name, kSegment)), /*serial=*/1, kSegment});
  }

  SegmentWriter NewWriter() {
    return {volume_.get(), file_, &buffer_, std::vector<RecordLocation>(),
            /*end=*/0};
  }
  absl::Status Append(SegmentWriter& writer, std::uint64_t record_bytes) {
    const Key key = KeyOfRecord(record_bytes);
    const std::vector<std::uint8_t> data(key.length, 7);
    return writer.Append(key, data);
  }

  const storage::local::ScratchDir scratch_;
  const std::unique_ptr<CacheDirectory> volume_ =
      *CacheDirectory::Lock(scratch_.Path("tier"));
  const PageBuffer buffer_{4 * kPageBytes};
  std::shared_ptr<const SegmentFile> file_;
};

TEST_CASE_METHOD(SegmentWriterTest,
                 "A segment writer that has space for two records fits both",
                 "[disk][segment_writer]") {
  // The size grows in the smallest steps, from a size that surely fits to one
  // that surely does not.
  for (std::uint64_t next = kSegment - 24 * kPageBytes;
       next < kSegment - 16 * kPageBytes; next += kRecordAlignment) {
    SegmentWriter writer = NewWriter();
    for (std::size_t i = 0; i < kBefore; ++i) {
      REQUIRE_THAT(Append(writer, kRecord), IsOk());
    }
    const bool has_space = writer.HasSpace(kRecord, next);
    REQUIRE_THAT(Append(writer, kRecord), IsOk());
    REQUIRE_THAT(writer.Flush(), IsOk());
    CAPTURE(next);
    CHECK(writer.HasSpace(next) == has_space);
  }
}

TEST_CASE_METHOD(
    SegmentWriterTest,
    "A segment writer writes the footer that follows a full segment",
    "[disk][segment_writer]") {
  SegmentWriter writer = NewWriter();
  std::uint64_t next = kRecord;
  while (writer.HasSpace(next + kRecordAlignment)) next += kRecordAlignment;
  REQUIRE_THAT(Append(writer, next), IsOk());
  CHECK_FALSE(writer.HasSpace(kRecordAlignment));
  REQUIRE_THAT(writer.Flush(), IsOk());
  CHECK_THAT(writer.Seal(), IsOk());
}

}  // namespace
}  // namespace forebay::cache::disk

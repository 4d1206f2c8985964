#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/base/memory_budget.h"
#include "server/dataset/records/build_record_index.h"
#include "server/dataset/records/record_index.h"
#include "server/dataset/records/record_index_format.h"

namespace forebay::dataset::records {
namespace {

using IndexPtr = std::shared_ptr<const RecordIndex>;

constexpr storage::ObjectVersion kVersion = {
    .size = 1000,
    .stamp = 7,
    .revision = {.inode = 3, .ctime_nanos = 4, .mark = 0}};

absl::Span<const std::uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

class RecordsApartTest : public ::testing::Test {
 protected:
  // Records that lie apart, in any order, with keys that begin with `name`.
  FileRecords Apart(const std::string& name, std::uint64_t count) {
    FileRecords records;
    KeyPacker keys;
    for (std::uint64_t i = 0; i < count; ++i) {
      records.begins.push_back(900 - 10 * i);
      records.ends.push_back(901 - 10 * i + i % 9);
      EXPECT_TRUE(keys.Add(absl::StrCat(name, i), memory_).ok());
    }
    records.keys = keys.Take();
    records.mark = 5;
    return records;
  }

  IndexPtr Build(std::vector<FileRecords> records) {
    std::vector<storage::ListedObject> files;
    for (std::size_t i = 0; i < records.size(); ++i)
      files.push_back({absl::StrCat("file-", i), kVersion});
    auto index = BuildRecordIndex("format", files, std::move(records), memory_);
    EXPECT_TRUE(index.ok()) << index.status();
    return *std::move(index);
  }

  IndexPtr Three() {
    std::vector<FileRecords> records;
    records.push_back(Apart("a", 70));
    records.push_back(Apart("none", 0));
    records.push_back(Apart("b", 33));
    return Build(std::move(records));
  }

  absl::StatusOr<IndexPtr> Changed(void (*change)(RecordIndexParts*)) {
    const IndexPtr index = Three();
    RecordIndexParts parts;
    parts.format = index->parts().format;
    parts.files = index->parts().files;
    parts.ends = index->parts().ends;
    parts.begins = index->parts().begins;
    parts.keys = index->parts().keys;
    parts.names = index->parts().names;
    change(&parts);
    return RecordIndex::Create(std::move(parts));
  }

  base::MemoryBudget budget_{1 << 20};
  base::WorkingMemory memory_{&budget_, "a test"};
};

TEST_F(RecordsApartTest, RecordsMayLieApart) {
  const IndexPtr index = Three();
  ASSERT_EQ(index->size(), 103u);
  EXPECT_EQ(index->longest(), 9u);
  EXPECT_EQ(index->lengths().shortest, 1u);
  for (const auto& [record, file, in_file] :
       {std::tuple(0u, 0u, 0u), std::tuple(69u, 0u, 69u),
        std::tuple(70u, 2u, 0u), std::tuple(102u, 2u, 32u)}) {
    const RecordIndex::Extent extent = index->ExtentOf(record);
    EXPECT_EQ(extent.file, file);
    EXPECT_EQ(extent.record, in_file);
    EXPECT_EQ(extent.offset, 900 - 10 * in_file);
    EXPECT_EQ(extent.length, 1 + in_file % 9);
  }
}

TEST_F(RecordsApartTest, RecordsMayFollowOneAnother) {
  FileRecords records;
  records.begin = 10;
  records.ends = {12, 20};
  std::vector<FileRecords> files;
  files.push_back(std::move(records));
  const IndexPtr index = Build(std::move(files));
  EXPECT_FALSE(index->has_keys());
  EXPECT_EQ(index->ExtentOf(0).offset, 10u);
  EXPECT_EQ(index->ExtentOf(1).offset, 12u);
  EXPECT_EQ(index->ExtentOf(1).length, 8u);
}

TEST_F(RecordsApartTest, RecordsHaveKeys) {
  const IndexPtr index = Three();
  ASSERT_TRUE(index->has_keys());
  EXPECT_EQ(index->longest_key(), 3u);
  for (std::uint64_t i = 0; i < index->size(); ++i) {
    EXPECT_EQ(index->KeyOf(i),
              i < 70 ? absl::StrCat("a", i) : absl::StrCat("b", i - 70));
  }
}

TEST_F(RecordsApartTest, FilesHaveMarks) {
  const IndexPtr index = Three();
  EXPECT_EQ(index->FileAt(0).version.revision.mark, 5u);
  EXPECT_EQ(index->RevisionOf("file-2"),
            (storage::Revision{.inode = 3, .ctime_nanos = 4, .mark = 5}));
  // A list of files has none.
  const std::vector<storage::ListedObject> files = {
      {"file-0", kVersion}, {"file-1", kVersion}, {"file-2", kVersion}};
  EXPECT_TRUE(index->IsOf(files));
}

TEST_F(RecordsApartTest, AcceptsEqualRecordsAlone) {
  const IndexPtr index = Three();
  const storage::Revision touched = {.inode = 3, .ctime_nanos = 9, .mark = 5};
  FileRecords other = Apart("b", 33);
  other.mark = 6;
  EXPECT_FALSE(index->Accept("file-2", touched, other));
  other = Apart("c", 33);
  EXPECT_FALSE(index->Accept("file-2", touched, other));
  other = Apart("b", 33);
  ++other.begins[4];
  EXPECT_FALSE(index->Accept("file-2", touched, other));
  EXPECT_FALSE(index->Accept("file-2", touched, Apart("b", 32)));
  EXPECT_EQ(index->RevisionOf("file-2").ctime_nanos, 4);
  EXPECT_TRUE(index->Accept("file-2", touched, Apart("b", 33)));
  EXPECT_TRUE(index->Accept("file-1", touched, Apart("none", 0)));
  EXPECT_EQ(index->RevisionOf("file-2"), touched);
}

TEST_F(RecordsApartTest, RecordsMayShareAnExtentAndBePacked) {
  FileRecords shared;
  shared.begins = {5, 5, 5, 20, 30, 30};
  shared.ends = {15, 15, 15, 30, 40, 40};
  shared.unpacked = {100, 0, 7, 8, 9, 10};
  std::vector<FileRecords> records;
  records.push_back(shared);
  records.push_back(shared);
  const IndexPtr index = Build(std::move(records));
  for (std::uint64_t record = 0; record < 12; ++record) {
    EXPECT_EQ(index->PlaceOf(record),
              (std::vector<std::uint64_t>{0, 1, 2, 0, 0, 1}[record % 6]));
    EXPECT_EQ(index->BytesOf(record), shared.unpacked[record % 6]);
  }
  const std::string bytes = EncodeRecordIndex(*index);
  IndexFileReader file(AsBytes(bytes));
  const auto decoded = DecodeRecordIndex(file, memory_);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ((*decoded)->version(), index->version());
  EXPECT_EQ((*decoded)->BytesOf(11), 10);
  const storage::Revision touched = {.inode = 3, .ctime_nanos = 9, .mark = 0};
  EXPECT_TRUE(index->Accept("file-1", touched, shared));
  ++shared.unpacked[3];
  EXPECT_FALSE(index->Accept("file-1", touched, shared));
  EXPECT_EQ(Three()->BytesOf(1), 2);
}

TEST_F(RecordsApartTest, VersionsTellAllOfItApart) {
  const IndexPtr index = Three();
  EXPECT_EQ(index->version(), Three()->version());
  for (void (*const change)(RecordIndexParts*) :
       {+[](RecordIndexParts* parts) { --parts->begins[3]; },
        +[](RecordIndexParts* parts) { ++parts->ends[3]; },
        +[](RecordIndexParts* parts) { parts->keys.bytes[2] = 'x'; },
        +[](RecordIndexParts* parts) { ++parts->files[2].mark; }}) {
    const auto changed = Changed(change);
    ASSERT_TRUE(changed.ok()) << changed.status();
    EXPECT_NE((*changed)->version(), index->version());
  }
}

TEST_F(RecordsApartTest, PartsThatDoNotFitAreDamaged) {
  for (void (*const change)(RecordIndexParts*) :
       {+[](RecordIndexParts* parts) { parts->begins.pop_back(); },
        +[](RecordIndexParts* parts) { parts->begins[3] = parts->ends[3]; },
        +[](RecordIndexParts* parts) { parts->ends[3] = 1001; },
        +[](RecordIndexParts* parts) { parts->begins[3] = UINT64_MAX; },
        +[](RecordIndexParts* parts) { parts->keys.bytes.pop_back(); },
        +[](RecordIndexParts* parts) { parts->keys.bytes += "xx"; },
        +[](RecordIndexParts* parts) { parts->keys.blocks.pop_back(); },
        +[](RecordIndexParts* parts) { parts->keys.blocks.clear(); },
        +[](RecordIndexParts* parts) { ++parts->keys.blocks[1]; },
        +[](RecordIndexParts* parts) { parts->keys.blocks.push_back(0); },
        +[](RecordIndexParts* parts) { parts->files[2].first_record = 71; },
        +[](RecordIndexParts* parts) { parts->files[2].begin = 1001; }}) {
    EXPECT_EQ(Changed(change).status().code(), absl::StatusCode::kDataLoss);
  }
}

TEST_F(RecordsApartTest, ItsFileHasAllOfIt) {
  const IndexPtr index = Three();
  std::string bytes = EncodeRecordIndex(*index);
  const auto decode = [&] {
    IndexFileReader file(AsBytes(bytes));
    return DecodeRecordIndex(file, memory_);
  };
  const auto decoded = decode();
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ((*decoded)->version(), index->version());
  EXPECT_EQ((*decoded)->KeyOf(80), "b10");
  EXPECT_EQ((*decoded)->ExtentOf(80).offset, 800u);
  EXPECT_EQ((*decoded)->FileAt(1).version.revision.mark, 5u);
  EXPECT_LE((*decoded)->memory(), (*decoded)->parts().reservation.bytes());
  for (const std::size_t at : {8u, 40u, 90u, 1500u}) {
    bytes[at] ^= 1;
    EXPECT_EQ(decode().status().code(), absl::StatusCode::kDataLoss);
    bytes[at] ^= 1;
  }
}

}  // namespace
}  // namespace forebay::dataset::records

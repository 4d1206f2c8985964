#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/memory_budget.h"
#include "server/dataset/records/build_record_index.h"
#include "server/dataset/records/record_index.h"
#include "server/dataset/records/record_index_format.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::dataset::records {
namespace {

using tests::HasCode;
using tests::IsOk;

using IndexPtr = std::shared_ptr<const RecordIndex>;

constexpr storage::ObjectVersion kVersion = {
    .size = 1000,
    .stamp = 7,
    .revision = {.inode = 3, .ctime_nanos = 4, .transaction_id = 0}};

absl::Span<const std::uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

class RecordsApartTest {
 protected:
  // Returns records that are not adjacent, in any order, with keys that begin
  // with `name`.
  FileRecords Apart(const std::string& name, std::uint64_t count) {
    FileRecords records;
    KeyCompressor keys;
    for (std::uint64_t i = 0; i < count; ++i) {
      records.begins.push_back(900 - 10 * i);
      records.ends.push_back(901 - 10 * i + i % 9);
      CHECK_THAT(keys.Add(absl::StrCat(name, i), memory_), IsOk());
    }
    records.keys = keys.Take();
    records.transaction_id = 5;
    return records;
  }

  IndexPtr Build(std::vector<FileRecords> records) {
    std::vector<storage::ListedObject> files;
    for (std::size_t i = 0; i < records.size(); ++i)
      files.push_back({absl::StrCat("file-", i), kVersion});
    auto index = BuildRecordIndex("format", files, std::move(records), memory_);
    CHECK_THAT(index, IsOk());
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

TEST_CASE_METHOD(RecordsApartTest,
                 "A record index may have records that lie apart",
                 "[records][records_apart]") {
  const IndexPtr index = Three();
  REQUIRE(index->size() == 103u);
  CHECK(index->longest() == 9u);
  CHECK(index->lengths().shortest == 1u);
  for (const auto& [record, file, in_file] :
       {std::tuple(0u, 0u, 0u), std::tuple(69u, 0u, 69u),
        std::tuple(70u, 2u, 0u), std::tuple(102u, 2u, 32u)}) {
    const RecordIndex::Extent extent = index->ExtentOf(record);
    CHECK(extent.file == file);
    CHECK(extent.record == in_file);
    CHECK(extent.offset == 900 - 10 * in_file);
    CHECK(extent.length == 1 + in_file % 9);
  }
}

TEST_CASE_METHOD(RecordsApartTest,
                 "A record index may have records that follow one another",
                 "[records][records_apart]") {
  FileRecords records;
  records.begin = 10;
  records.ends = {12, 20};
  std::vector<FileRecords> files;
  files.push_back(std::move(records));
  const IndexPtr index = Build(std::move(files));
  CHECK_FALSE(index->has_keys());
  CHECK(index->ExtentOf(0).offset == 10u);
  CHECK(index->ExtentOf(1).offset == 12u);
  CHECK(index->ExtentOf(1).length == 8u);
}

TEST_CASE_METHOD(RecordsApartTest,
                 "A record index gives the keys of records that lie apart",
                 "[records][records_apart]") {
  const IndexPtr index = Three();
  REQUIRE(index->has_keys());
  CHECK(index->longest_key() == 3u);
  for (std::uint64_t i = 0; i < index->size(); ++i) {
    CHECK(index->KeyOf(i) ==
          (i < 70 ? absl::StrCat("a", i) : absl::StrCat("b", i - 70)));
  }
}

TEST_CASE_METHOD(RecordsApartTest,
                 "A record index gives the transaction ids of its files",
                 "[records][records_apart]") {
  const IndexPtr index = Three();
  CHECK(index->FileAt(0).version.revision.transaction_id == 5u);
  CHECK(index->RevisionOf("file-2") ==
        storage::Revision{.inode = 3, .ctime_nanos = 4, .transaction_id = 5});
  // The files of a new list have no transaction ids yet.
  const std::vector<storage::ListedObject> files = {
      {"file-0", kVersion}, {"file-1", kVersion}, {"file-2", kVersion}};
  CHECK(index->IsOf(files));
}

TEST_CASE_METHOD(
    RecordsApartTest,
    "A record index accepts a touched file only if its records are equal",
    "[records][records_apart]") {
  const IndexPtr index = Three();
  const storage::Revision touched = {
      .inode = 3, .ctime_nanos = 9, .transaction_id = 5};
  FileRecords other = Apart("b", 33);
  other.transaction_id = 6;
  CHECK_FALSE(index->Accept("file-2", touched, other));
  other = Apart("c", 33);
  CHECK_FALSE(index->Accept("file-2", touched, other));
  other = Apart("b", 33);
  ++other.begins[4];
  CHECK_FALSE(index->Accept("file-2", touched, other));
  CHECK_FALSE(index->Accept("file-2", touched, Apart("b", 32)));
  CHECK(index->RevisionOf("file-2").ctime_nanos == 4);
  CHECK(index->Accept("file-2", touched, Apart("b", 33)));
  CHECK(index->Accept("file-1", touched, Apart("none", 0)));
  CHECK(index->RevisionOf("file-2") == touched);
}

TEST_CASE_METHOD(
    RecordsApartTest,
    "A record index may have records that share an extent and are compressed",
    "[records][records_apart]") {
  FileRecords shared;
  shared.begins = {5, 5, 5, 20, 30, 30};
  shared.ends = {15, 15, 15, 30, 40, 40};
  shared.decompressed = {100, 0, 7, 8, 9, 10};
  std::vector<FileRecords> records;
  records.push_back(shared);
  records.push_back(shared);
  const IndexPtr index = Build(std::move(records));
  for (std::uint64_t record = 0; record < 12; ++record) {
    CHECK(index->PlaceOf(record) ==
          std::vector<std::uint64_t>{0, 1, 2, 0, 0, 1}[record % 6]);
    CHECK(index->BytesOf(record) == shared.decompressed[record % 6]);
  }
  const std::string bytes = EncodeRecordIndex(*index);
  IndexFileReader file(AsBytes(bytes));
  const auto decoded = DecodeRecordIndex(file, memory_);
  REQUIRE_THAT(decoded, IsOk());
  CHECK((*decoded)->version() == index->version());
  CHECK((*decoded)->BytesOf(11) == 10);
  const storage::Revision touched = {
      .inode = 3, .ctime_nanos = 9, .transaction_id = 0};
  CHECK(index->Accept("file-1", touched, shared));
  ++shared.decompressed[3];
  CHECK_FALSE(index->Accept("file-1", touched, shared));
  CHECK(Three()->BytesOf(1) == 2);
}

TEST_CASE_METHOD(
    RecordsApartTest,
    "The version of an index of records that lie apart covers all its parts",
    "[records][records_apart]") {
  const IndexPtr index = Three();
  CHECK(index->version() == Three()->version());
  for (void (*const change)(RecordIndexParts*) :
       {+[](RecordIndexParts* parts) { --parts->begins[3]; },
        +[](RecordIndexParts* parts) { ++parts->ends[3]; },
        +[](RecordIndexParts* parts) { parts->keys.bytes[2] = 'x'; },
        +[](RecordIndexParts* parts) { ++parts->files[2].transaction_id; }}) {
    const auto changed = Changed(change);
    REQUIRE_THAT(changed, IsOk());
    CHECK((*changed)->version() != index->version());
  }
}

TEST_CASE_METHOD(RecordsApartTest,
                 "An index of records that lie apart treats parts that do not "
                 "fit as damaged",
                 "[records][records_apart]") {
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
    CHECK_THAT(Changed(change), HasCode(absl::StatusCode::kDataLoss));
  }
}

TEST_CASE_METHOD(
    RecordsApartTest,
    "The file of an index of records that lie apart has all of the index",
    "[records][records_apart]") {
  const IndexPtr index = Three();
  std::string bytes = EncodeRecordIndex(*index);
  const auto decode = [&] {
    IndexFileReader file(AsBytes(bytes));
    return DecodeRecordIndex(file, memory_);
  };
  const auto decoded = decode();
  REQUIRE_THAT(decoded, IsOk());
  CHECK((*decoded)->version() == index->version());
  CHECK((*decoded)->KeyOf(80) == "b10");
  CHECK((*decoded)->ExtentOf(80).offset == 800u);
  CHECK((*decoded)->FileAt(1).version.revision.transaction_id == 5u);
  CHECK((*decoded)->memory() <= (*decoded)->parts().reservation.bytes());
  for (const std::size_t at : {8u, 40u, 90u, 1500u}) {
    bytes[at] ^= 1;
    CHECK_THAT(decode(), HasCode(absl::StatusCode::kDataLoss));
    bytes[at] ^= 1;
  }
}

}  // namespace
}  // namespace forebay::dataset::records

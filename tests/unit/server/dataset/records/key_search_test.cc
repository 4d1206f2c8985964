#include "server/dataset/records/key_search.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/memory_budget.h"
#include "server/dataset/records/build_record_index.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::dataset::records {
namespace {

using tests::HasCode;
using tests::IsOk;

using Keys = std::vector<std::string_view>;
using Numbers = std::vector<std::uint64_t>;

class KeySearchTest {
 protected:
  FileRecords RecordsWith(const std::vector<std::string>& names) {
    FileRecords records;
    KeyCompressor keys;
    for (const std::string& name : names) {
      records.begins.push_back(10 * records.ends.size());
      records.ends.push_back(records.begins.back() + 1);
      CHECK_THAT(keys.Add(name, memory_), IsOk());
    }
    records.keys = keys.Take();
    return records;
  }

  // Returns an index of three files. `first` and `last` are the keys of the
  // first and the last file; the second has no records.
  std::shared_ptr<const RecordIndex> Build(
      const std::vector<std::string>& first,
      const std::vector<std::string>& last) {
    std::vector<FileRecords> records;
    records.push_back(RecordsWith(first));
    records.push_back(RecordsWith({}));
    records.push_back(RecordsWith(last));
    const std::vector<storage::ListedObject> files = {
        {"a", {.size = 10000}}, {"b", {.size = 10000}}, {"c", {.size = 10000}}};
    auto index = BuildRecordIndex("format", files, std::move(records), memory_);
    CHECK_THAT(index, IsOk());
    return *std::move(index);
  }

  base::MemoryBudget budget_{1 << 20};
  base::WorkingMemory memory_{&budget_, "a test"};
};

TEST_CASE_METHOD(KeySearchTest, "A key search finds keys in any order",
                 "[records][key_search]") {
  std::vector<std::string> first;
  std::vector<std::string> last;
  for (int i = 0; i < 100; ++i) first.push_back(absl::StrCat("first", i));
  for (int i = 50; i > 0; --i) last.push_back(absl::StrCat("last", i));
  const auto index = Build(first, last);
  CHECK(*FindKeys(*index, Keys{"last1", "first0", "first99", "first33"},
                  memory_) == Numbers{149, 0, 99, 33});
  std::vector<std::string_view> all(first.begin(), first.end());
  all.insert(all.end(), last.begin(), last.end());
  const auto numbers = FindKeys(*index, all, memory_);
  REQUIRE_THAT(numbers, IsOk());
  for (std::uint64_t i = 0; i < all.size(); ++i) CHECK((*numbers)[i] == i);
}

TEST_CASE_METHOD(KeySearchTest,
                 "A key search finds keys that come several times in the list",
                 "[records][key_search]") {
  const auto index = Build({"", "a", std::string("a\0b", 3)}, {"c"});
  CHECK(*FindKeys(*index, Keys{"c", "a", "c", "", {"a\0b", 3}, "a"}, memory_) ==
        Numbers{3, 1, 3, 0, 2, 1});
  CHECK(FindKeys(*index, {}, memory_)->empty());
}

TEST_CASE_METHOD(KeySearchTest, "A key search names the key that no entry has",
                 "[records][key_search]") {
  const auto index = Build({"a", "b"}, {"c"});
  CHECK(FindKeys(*index, Keys{"a", "a\x01", "d"}, memory_).status() ==
        absl::NotFoundError("no entry has the key a\\x01"));
  CHECK(FindKeys(*index, Keys{""}, memory_).status() ==
        absl::NotFoundError("no entry has the key "));
}

TEST_CASE_METHOD(KeySearchTest,
                 "A key search names the key that several entries have",
                 "[records][key_search]") {
  const auto index = Build({"a", "b"}, {"b", "c"});
  CHECK(*FindKeys(*index, Keys{"c", "a"}, memory_) == Numbers{3, 0});
  CHECK(FindKeys(*index, Keys{"c", "b"}, memory_).status() ==
        absl::InvalidArgumentError(
            "several entries have the key b, which is listed"));
}

TEST_CASE_METHOD(KeySearchTest, "A key search counts its memory",
                 "[records][key_search]") {
  const auto index = Build({"a"}, {"b"});
  base::MemoryBudget budget(1 << 12);
  base::WorkingMemory memory(&budget, "a test");
  CHECK_THAT(FindKeys(*index, Keys(100, "a"), memory),
             HasCode(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace forebay::dataset::records

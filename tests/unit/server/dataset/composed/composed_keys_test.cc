#include "server/dataset/composed/composed_keys.h"

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "server/dataset/lmdb/lmdb_format.h"
#include "server/dataset/records/build_record_index.h"
#include "server/dataset/records/record_dataset.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/sealed_numbers.h"
#include "tests/unit/server/dataset/composed/plain_dataset.h"

namespace forebay::dataset::composed {
namespace {

using tests::HasCode;
using tests::IsOk;

class KeyListTest {
 protected:
  // Returns a dataset of an LMDB file with these keys, or without keys.
  std::unique_ptr<const Dataset> Entries(const std::vector<std::string>& names,
                                         bool has_keys = true) {
    base::WorkingMemory memory(&budget_, "a test");
    std::vector<records::FileRecords> records(1);
    records::KeyCompressor keys;
    for (const std::string& name : names) {
      records[0].ends.push_back(records[0].ends.size() + 1);
      CHECK_THAT(keys.Add(name, memory), IsOk());
    }
    if (has_keys) records[0].keys = keys.Take();
    const storage::ListedObject file = {"data.mdb", {.size = 100}};
    auto index =
        records::BuildRecordIndex("", {&file, 1}, std::move(records), memory);
    CHECK_THAT(index, IsOk());
    return std::make_unique<const records::RecordDataset>(
        *std::move(index),
        std::make_shared<const lmdb::LmdbFormat>(
            "", lmdb::EntryFields(std::nullopt, lmdb::EntryFields::OfLsun{})),
        storage::FakeRoot::Make({.uri = "here", .identity = "here"}), &budget_,
        records::FileClasses());
  }

  absl::StatusOr<std::vector<std::uint64_t>> NumbersOf(
      const Dataset& whole, const std::vector<std::uint32_t>& lengths,
      const std::string& keys, std::optional<std::uint64_t> count = {}) {
    std::string list(reinterpret_cast<const char*>(lengths.data()),
                     lengths.size() * sizeof(lengths[0]));
    list += keys;
    const auto memory = base::SealedMemory::Map(
        base::Memfd(list.data(), list.size()), &budget_, "a list");
    CHECK_THAT(memory, IsOk());
    const auto numbers = NumbersOfKeys(
        whole, **memory, count.value_or(lengths.size()), &budget_);
    if (!numbers.ok()) return numbers.status();
    std::vector<std::uint64_t> found((*numbers)->bytes().size() / 8);
    std::memcpy(found.data(), (*numbers)->bytes().data(), found.size() * 8);
    return found;
  }

  base::MemoryBudget budget_{1 << 20};
};

TEST_CASE_METHOD(KeyListTest, "A key list finds the sample numbers of its keys",
                 "[composed][key_list]") {
  const auto whole = Entries({"", "a", "bc"});
  CHECK(*NumbersOf(*whole, {2, 0, 1, 2}, "bcabc") ==
        std::vector<std::uint64_t>{2, 0, 1, 2});
}

TEST_CASE_METHOD(KeyListTest, "A key list gives its memory back",
                 "[composed][key_list]") {
  const auto whole = Entries({"a"});
  const std::uint64_t before = budget_.used();
  CHECK_THAT(NumbersOf(*whole, {1}, "a"), IsOk());
  CHECK_FALSE(NumbersOf(*whole, {1}, "b").ok());
  CHECK(budget_.used() == before);
}

TEST_CASE_METHOD(KeyListTest, "A key list refuses bytes that are not a list",
                 "[composed][key_list]") {
  const auto whole = Entries({"a"});
  constexpr std::uint64_t kMany = UINT64_MAX;
  for (const auto& [lengths, keys, count] : std::vector<
           std::tuple<std::vector<std::uint32_t>, std::string, std::uint64_t>>{
           {{1}, "", 1},
           {{1}, "aa", 1},
           {{UINT32_MAX}, "a", 1},
           {{1, 1}, "a", 2},
           {{1}, "a", kMany},
           {{1}, "a", kMany / 4 + 1},
           {{}, "aaa", 1}}) {
    const absl::Status refused =
        NumbersOf(*whole, lengths, keys, count).status();
    CHECK_THAT(refused, HasCode(absl::StatusCode::kInvalidArgument));
  }
}

TEST_CASE_METHOD(KeyListTest, "A key list refuses datasets without keys",
                 "[composed][key_list]") {
  const PlainDataset plain("plain", 3);
  CHECK(NumbersOf(plain, {1}, "a").status() ==
        absl::InvalidArgumentError("plain: its samples have no keys"));
  CHECK(NumbersOf(*Entries({"a"}, false), {1}, "a").status() ==
        absl::InvalidArgumentError("here: its samples have no keys"));
  CHECK(NumbersOf(*Entries({}), {1}, "a").status() ==
        absl::NotFoundError("here: no entry has the key a"));
}

}  // namespace
}  // namespace forebay::dataset::composed

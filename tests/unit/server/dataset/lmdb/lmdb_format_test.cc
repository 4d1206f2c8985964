#include "server/dataset/lmdb/lmdb_format.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "server/base/memory_budget.h"
#include "server/dataset/lmdb/lmdb_format_choice.h"
#include "server/dataset/records/record_index.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/lmdb/golden_lmdb.h"

namespace forebay::dataset::lmdb {
namespace {

using tests::HasCode;
using tests::IsOk;

using records::ParseValueType;

KeyField Key(std::string_view type, bool is_last = false) {
  return {*ParseValueType(type), is_last};
}

EntryFields::Plain Plain(std::string_view type) {
  return {*ParseValueType(type)};
}

EntryFields::Value Examples() {
  return *tfrecord::RecordFields::OfExamples(
      std::vector<std::string>{"a", "b"},
      std::vector<std::string>{"int64[n]", "image"});
}

std::vector<EntryFields> AllKinds() {
  return {EntryFields(std::nullopt, Plain("image")),
          EntryFields(std::nullopt, Plain("float32[n,4]")),
          EntryFields(Key("text"), Plain("bytes")),
          EntryFields(Key("bytes", true), Plain("bytes")),
          EntryFields(Key("int64"), EntryFields::Value()),
          EntryFields(std::nullopt,
                      EntryFields::OfDatum{*ParseValueType("uint8[3,2,1]")}),
          EntryFields(Key("text", true),
                      EntryFields::OfDatum{*ParseValueType("image")}),
          EntryFields(std::nullopt, Examples()),
          EntryFields(std::nullopt, EntryFields::OfLsun{}),
          EntryFields(Key("bytes"), EntryFields::OfLsun{}),
          EntryFields(Key("bytes", true), EntryFields::OfLsun{})};
}

TEST_CASE("An LMDB format's text makes the same format again",
          "[lmdb][lmdb_format]") {
  std::vector<std::string> texts;
  for (const EntryFields& fields : AllKinds()) {
    for (const char* const database : {"", "train"}) {
      const LmdbFormat format(database, fields);
      const auto again = LmdbFormat::Parse(format.text());
      REQUIRE_THAT(again, IsOk());
      CHECK((*again)->text() == format.text());
      CHECK((*again)->key_field() == format.key_field());
      CHECK(std::count(texts.begin(), texts.end(), format.text()) == 0);
      texts.push_back(format.text());
    }
  }
  for (std::string text : texts) {
    for (const std::size_t end : {std::size_t{0}, std::size_t{4},
                                  text.find('\0', 5), text.size() - 1}) {
      const auto other = LmdbFormat::Parse(text.substr(0, end));
      if (other.ok()) continue;
      CHECK_THAT(other, HasCode(absl::StatusCode::kDataLoss));
    }
    text[0] = 'x';
    CHECK_FALSE(LmdbFormat::Parse(text).ok());
  }
}

TEST_CASE("The fields of the LMDB format are those of key and value",
          "[lmdb][lmdb_format]") {
  std::vector<std::string> names;
  for (const EntryFields& fields : AllKinds()) {
    std::string all;
    for (const Field& field :
         fields.FieldsOf(9, {.shortest = 16, .longest = 32}))
      all += field.name + " ";
    names.push_back(all);
  }
  CHECK(names == std::vector<std::string>{
                     "value ", "value ", "key value ", "value key ", "key ",
                     "array label ", "image label key ", "a b ", "image label ",
                     "key image label ", "image label key "});
}

TEST_CASE("The LMDB format knows which fields the index has as keys and files",
          "[lmdb][lmdb_format]") {
  std::vector<std::pair<int, int>> numbers;
  for (const EntryFields& fields : AllKinds()) {
    const auto or_none = [](std::optional<std::size_t> number) {
      return number.has_value() ? static_cast<int>(*number) : -1;
    };
    numbers.emplace_back(or_none(fields.key_field()),
                         or_none(fields.file_field()));
  }
  CHECK(numbers == std::vector<std::pair<int, int>>{{-1, -1},
                                                    {-1, -1},
                                                    {0, -1},
                                                    {1, -1},
                                                    {0, -1},
                                                    {-1, -1},
                                                    {2, -1},
                                                    {-1, -1},
                                                    {-1, 1},
                                                    {0, 2},
                                                    {2, 1}});
}

TEST_CASE("LMDB fields have room for their longest value",
          "[lmdb][lmdb_format]") {
  const records::LengthBounds lengths = {.shortest = 16, .longest = 33};
  const auto longest = [&](std::size_t kind) {
    std::vector<std::uint64_t> found;
    for (const Field& field : AllKinds()[kind].FieldsOf(9, lengths))
      found.push_back(field.longest);
    return found;
  };
  CHECK(longest(1) == std::vector<std::uint64_t>{32});
  CHECK(longest(2) == std::vector<std::uint64_t>{9, 33});
  CHECK(longest(5) == std::vector<std::uint64_t>{6, 8});
  // Each byte of a value may be a packed integer.
  CHECK(longest(7) == std::vector<std::uint64_t>{264, 33});
}

TEST_CASE("An LMDB record's values begin behind a byte",
          "[lmdb][lmdb_format]") {
  const LmdbFormat format("", EntryFields(Key("text"), Plain("bytes")));
  std::vector<FieldValue> values(2);
  ValueBuffers buffers;
  const auto record = AsBytes("xvalue");
  REQUIRE_THAT(format.ReadValues(record, absl::MakeSpan(values), &buffers),
               IsOk());
  CHECK(std::get<FieldRange>(values[1]).offset == 1u);
  CHECK(std::get<FieldRange>(values[1]).length == 5u);
  REQUIRE_THAT(
      format.ReadValues(record.first(1), absl::MakeSpan(values), &buffers),
      IsOk());
  CHECK(std::get<FieldRange>(values[1]).length == 0u);
  CHECK_THAT(format.ReadValues({}, absl::MakeSpan(values), &buffers),
             HasCode(absl::StatusCode::kDataLoss));
}

TEST_CASE("The mark of an LMDB file tells the last transaction",
          "[lmdb][lmdb_format]") {
  const LmdbFormat format("", EntryFields(std::nullopt, Plain("bytes")));
  for (const GoldenLmdb& golden : GoldenLmdbs()) {
    std::string file = GoldenFile(golden.file);
    const auto read = [&](std::uint64_t offset, absl::Span<std::uint8_t> out) {
      if (offset > file.size() || out.size() > file.size() - offset)
        return false;
      const auto from = AsBytes(file).subspan(offset, out.size());
      std::copy(from.begin(), from.end(), out.begin());
      return true;
    };
    CAPTURE(golden.file);
    CHECK(format.FindTransactionId(read) == golden.transaction + 1);
    file.resize(golden.page_bytes);
    CHECK(format.FindTransactionId(read) == std::nullopt);
    file.assign(9000, 'x');
    CHECK(format.FindTransactionId(read) == std::nullopt);
  }
}

TEST_CASE("The choice of LMDB fields refuses what is not a field",
          "[lmdb][lmdb_format]") {
  using Texts = std::vector<std::string>;
  const auto choose = [](const Texts& names, const Texts& types,
                         const std::string& database = {}) {
    return LmdbFormatChoice::Create(names, types, database).status();
  };
  for (const auto& [names, types] : std::vector<std::pair<Texts, Texts>>{
           {{}, {}},
           {{""}, {"image"}},
           {{""}, {"datum"}},
           {{""}, {"lsun"}},
           {{"key", "value"}, {"text", "lsun"}},
           {{"key"}, {"text"}},
           {{"value", "key"}, {"datum", "int64"}},
           {{"key", "other"}, {"int64", "text"}},
           {{"value", "a", "b"}, {"int64", "text", "image"}}}) {
    CHECK_THAT(choose(names, types), IsOk());
  }
  for (const auto& [names, types] : std::vector<std::pair<Texts, Texts>>{
           {{""}, {"nothing"}},
           {{"key"}, {"image"}},
           {{"key"}, {"float32[3]"}},
           {{"key", "key"}, {"text", "text"}},
           {{"value", "value"}, {"text", "text"}},
           {{"key", "value"}, {"text"}},
           {{"a"}, {"datum"}},
           {{"a"}, {"lsun"}},
           {{"a", "a"}, {"text", "text"}}}) {
    CHECK_THAT(choose(names, types),
               HasCode(absl::StatusCode::kInvalidArgument));
  }
  CHECK_THAT(choose({}, {}, std::string("a\0b", 3)),
             HasCode(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace forebay::dataset::lmdb

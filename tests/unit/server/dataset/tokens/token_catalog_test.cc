#include "server/dataset/tokens/token_catalog.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/npy/npy_file.h"
#include "tests/unit/server/dataset/tokens/golden_tokens.h"

namespace forebay::dataset::tokens {
namespace {

using tests::Contains;
using tests::ElementsAre;
using tests::HasCode;
using tests::IsOk;

using DatasetOr = absl::StatusOr<std::shared_ptr<const Dataset>>;

// Returns the bytes 0, 1, 2, ...
std::string Counting(std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(i);
  return text;
}

class TokenCatalogTest {
 protected:
  void Put(const std::string& name, const std::string& content) {
    contents_[name] = content;
    const storage::ObjectVersion version = source_.Put(name, content);
    std::erase_if(files_, [&](const auto& file) { return file.name == name; });
    files_.push_back({name, version});
  }

  // `tokens` is a proto::Tokens in protobuf's text format.
  DatasetOr Open(const std::vector<std::string>& patterns,
                 const std::string& tokens) {
    TokenRequest request;
    request.root = source_.root();
    request.patterns = patterns;
    proto::Tokens spec;
    CHECK(google::protobuf::TextFormat::ParseFromString(tokens, &spec));
    auto settings = SettingsOf(spec);
    if (!settings.ok()) return settings.status();
    request.settings = *settings;
    request.list = [this](const std::vector<std::string>& wanted,
                          base::WorkingMemory&,
                          const std::stop_token&) { return List(wanted); };
    request.source = &source_;
    request.files_at_once = 2;
    return catalog_.Open(request, {});
  }

  // Lists the files that the patterns match. A pattern is a name, or "*" and an
  // extension.
  absl::StatusOr<std::vector<storage::ListedObject>> List(
      const std::vector<std::string>& patterns) const {
    std::vector<storage::ListedObject> found;
    for (const std::string& pattern : patterns) {
      for (const storage::ListedObject& file : files_) {
        if (file.name == pattern ||
            (pattern[0] == '*' && file.name.ends_with(pattern.substr(1)))) {
          found.push_back(file);
        }
      }
    }
    if (found.empty())
      return absl::NotFoundError(patterns.front() + ": is not there");
    return found;
  }

  // Returns the bytes of a sample's field.
  std::string Value(const Dataset& dataset, std::uint64_t id,
                    std::size_t field = 0) {
    std::vector<FieldValue> values(dataset.fields().size());
    dataset.ValuesOf(id, absl::MakeSpan(values));
    const auto range = std::get<FieldRange>(values[field]);
    const Sample sample = dataset.At(id);
    CHECK(range.offset + range.length <= sample.length);
    CHECK(sample.offset + sample.length <= contents_[sample.object].size());
    return contents_[sample.object].substr(sample.offset + range.offset,
                                           range.length);
  }

  std::vector<std::string> Values(const Dataset& dataset,
                                  std::size_t field = 0) {
    std::vector<std::string> values;
    for (std::uint64_t id = 0; id < dataset.size(); ++id)
      values.push_back(Value(dataset, id, field));
    return values;
  }

  std::string Refusal(const std::vector<std::string>& patterns,
                      const std::string& tokens, absl::StatusCode code) {
    const absl::Status status = Open(patterns, tokens).status();
    CHECK_THAT(status, HasCode(code));
    return std::string(status.message());
  }

  storage::MemorySource source_;
  std::vector<storage::ListedObject> files_;
  std::map<std::string, std::string> contents_;
  TokenCatalog catalog_{base::AmpleBudget()};
};

TEST_CASE_METHOD(TokenCatalogTest,
                 "The token catalog cuts windows of files without a header",
                 "[tokens][token_catalog]") {
  Put("a", "0123456789");
  Put("b", "ab");
  Put("c", "ABCDE");
  auto dataset = Open({"a", "b", "c"}, "length: 4 dtype: UINT8");
  REQUIRE_THAT(dataset, IsOk());
  CHECK_THAT(Values(**dataset), ElementsAre("0123", "4567", "ABCD"));
  const Field& field = (*dataset)->fields()[0];
  CHECK(field.name == "tokens");
  CHECK(field.array == ArrayType{.dtype = proto::DType::kUint8, .shape = {4}});
  CHECK_FALSE(field.ragged());
  CHECK((*dataset)->NameOf(1) == "tokens 4 to 7");

  dataset = Open({"a", "b", "c"},
                 "length: 3 dtype: UINT8 stride: 2 has_targets: true");
  REQUIRE_THAT(dataset, IsOk());
  CHECK_THAT(Values(**dataset), ElementsAre("012", "234", "456", "678", "ABC"));
  CHECK_THAT(Values(**dataset, 1),
             ElementsAre("123", "345", "567", "789", "BCD"));

  dataset = Open({"a", "b", "c"}, "length: 4 dtype: UINT8 keeps_tail: true");
  REQUIRE_THAT(dataset, IsOk());
  CHECK_THAT(Values(**dataset),
             ElementsAre("0123", "4567", "89", "ab", "ABCD", "E"));
  CHECK((*dataset)->fields()[0].ragged());
  CHECK((*dataset)->fields()[0].longest == 4);

  dataset = Open({"a"}, "length: 2 dtype: UINT16");
  REQUIRE_THAT(dataset, IsOk());
  CHECK_THAT(Values(**dataset), ElementsAre("0123", "4567"));
}

TEST_CASE_METHOD(
    TokenCatalogTest,
    "The token catalog demands that npy files have one axis of integers",
    "[tokens][token_catalog]") {
  Put("a.npy", npy::NpyFile("<i4", "(5,)", 20));
  Put("b.npy", npy::NpyFile("<i4", "(0,)", 0));
  Put("c.npy", npy::NpyFile("<i4", "(2,)", 8));
  const auto dataset = Open({"*.npy"}, "length: 2");
  REQUIRE_THAT(dataset, IsOk());
  CHECK_THAT(Values(**dataset),
             ElementsAre(Counting(8), Counting(16).substr(8), Counting(8)));
  Put("d.npy", npy::NpyFile("<i4", "(2, 1)", 8));
  CHECK_THAT(
      Refusal({"*.npy"}, "length: 2", absl::StatusCode::kUnimplemented),
      Contains("d.npy: has rows of int32 (1,), but tokens are integers along "
               "one axis"));
  Put("d.npy", npy::NpyFile("<f4", "(2,)", 8));
  CHECK_THAT(Refusal({"*.npy"}, "length: 2", absl::StatusCode::kUnimplemented),
             Contains("d.npy: has rows of float32 ()"));
  Put("d.npy", npy::NpyFile("<u4", "(2,)", 8));
  CHECK_THAT(
      Refusal({"*.npy"}, "length: 2", absl::StatusCode::kInvalidArgument),
      Contains("d.npy: has tokens of uint32 (), but those of a.npy are int32"));
  Put("d.npy", "");
  CHECK_THAT(Refusal({"*.npy"}, "length: 2", absl::StatusCode::kDataLoss),
             Contains("d.npy: is not a .npy file"));
}

TEST_CASE_METHOD(TokenCatalogTest,
                 "The token catalog finds the documents of Megatron-LM's files",
                 "[tokens][token_catalog]") {
  for (const GoldenTokens& golden : AllGoldenTokens()) {
    Put(golden.name + ".bin", golden.data);
    Put(golden.name + ".idx", golden.index);
    const auto whole = Open({golden.name + ".bin"}, "");
    UNSCOPED_INFO(golden.name << whole.status());
    REQUIRE_THAT(whole, IsOk());
    const std::uint64_t token_bytes =
        golden.count == 0 ? 1 : golden.data.size() / golden.count;
    std::vector<std::string> expected;
    std::vector<std::string> pairs;  // two tokens of one document
    std::uint64_t at = 0;
    for (const std::uint64_t tokens : golden.documents) {
      if (tokens > 0)
        expected.push_back(
            golden.data.substr(at * token_bytes, tokens * token_bytes));
      for (std::uint64_t i = 0; i + 2 <= tokens; ++i)
        pairs.push_back(
            golden.data.substr((at + i) * token_bytes, 2 * token_bytes));
      at += tokens;
    }
    CAPTURE(golden.name);
    CHECK(Values(**whole) == expected);
    const auto each =
        Open({golden.name + ".bin"}, "length: 2 stride: 1 each_document: true");
    UNSCOPED_INFO(golden.name << each.status());
    REQUIRE_THAT(each, IsOk());
    CHECK(Values(**each) == pairs);
    const auto cross = Open({golden.name + ".bin"}, "length: 2 stride: 1");
    UNSCOPED_INFO(golden.name << cross.status());
    REQUIRE_THAT(cross, IsOk());
    CHECK((*cross)->size() == (golden.count == 0 ? 0 : golden.count - 1));
  }
}

TEST_CASE_METHOD(TokenCatalogTest,
                 "The token catalog finds the documents of several files",
                 "[tokens][token_catalog]") {
  const auto all = AllGoldenTokens();
  for (const char* const name : {"1", "2", "3"}) {
    Put(std::string(name) + ".bin", all[0].data);
    Put(std::string(name) + ".idx", all[0].index);
  }
  const auto whole = Open({"*.bin"}, "has_targets: true");
  REQUIRE_THAT(whole, IsOk());
  // Each file has four documents. The one with a single token has no target,
  // and so no window.
  CHECK((*whole)->size() == 9);
  CHECK(Value(**whole, 3) == all[0].data.substr(0, 2 * 299));
  CHECK(Value(**whole, 4) == all[0].data.substr(2 * 301, 2 * 1999));
  CHECK((*whole)->At(8).object == "3.bin");
  CHECK((*whole)->fields()[1].longest == 2 * 1999);
}

TEST_CASE_METHOD(TokenCatalogTest, "The token catalog says what is missing",
                 "[tokens][token_catalog]") {
  const auto all = AllGoldenTokens();
  Put("a.bin", all[0].data);
  CHECK_THAT(Refusal({"a.bin"}, "length: 2", absl::StatusCode::kNotFound),
             Contains("a.idx: is not there: files without it need a dtype"));
  Put("a.idx", all[1].index);
  CHECK_THAT(Refusal({"a.bin"}, "length: 2", absl::StatusCode::kDataLoss),
             Contains("a.idx: is of 141 tokens, but there are 1159"));
  Put("a.idx", all[0].index);
  Put("b.bin", all[0].data);
  CHECK_THAT(Refusal({"*.bin"}, "length: 2", absl::StatusCode::kNotFound),
             Contains("b.bin: there is no b.idx"));
  Put("a.bin", all[0].data.substr(1));
  CHECK_THAT(
      Refusal({"a.bin"}, "length: 2", absl::StatusCode::kDataLoss),
      Contains("a.bin: has 4635 bytes, which are not whole tokens of 2"));
  CHECK_THAT(Refusal({"a.txt"}, "length: 2", absl::StatusCode::kNotFound),
             Contains("a.txt"));
  Put("a.txt", "text");
  CHECK_THAT(
      Refusal({"a.txt"}, "length: 2", absl::StatusCode::kInvalidArgument),
      Contains("a.txt: tokens lie in files .npy"));
}

// The file's revision changes in the middle of an epoch.
TEST_CASE_METHOD(TokenCatalogTest,
                 "A token layout looks again at a file that was touched",
                 "[tokens][token_catalog]") {
  const std::string file = npy::NpyFile("<i2", "(4,)", 8);
  Put("a.npy", file);
  files_[0].version.revision = {1, 1};
  source_.Rewrite("a.npy", file, {1, 1});
  const auto dataset = *Open({"a.npy"}, "length: 2");
  const auto look = [&] {
    const Sample sample = dataset->At(0);
    storage::ReadRequest read;
    read.root = source_.root();
    read.object = "a.npy";
    read.version = sample.version;
    absl::StatusOr<storage::Revision> now;
    sample.layout->Revalidate(read, source_,
                              [&](absl::StatusOr<storage::Revision> answer) {
                                now = std::move(answer);
                              });
    return now;
  };
  std::string others = file;
  others.back() = 'x';
  source_.Rewrite("a.npy", others, {1, 2});
  CHECK(*look() == storage::Revision{1, 2});
  CHECK(dataset->At(0).version.revision == storage::Revision{1, 2});
  for (const std::string& other :
       {npy::NpyFile("<u2", "(4,)", 8), npy::NpyFile("<i1", "(8,)", 8),
        std::string(file.size(), 'x')}) {
    source_.Rewrite("a.npy", other, {1, 3});
    CHECK(look().status() ==
          absl::FailedPreconditionError(
              "a.npy: was rewritten since the dataset was indexed"));
  }
}

TEST_CASE_METHOD(TokenCatalogTest,
                 "Loaders share the token index until a file changes",
                 "[tokens][token_catalog]") {
  Put("a", "0123456789");
  const auto open = [this] { return *Open({"a"}, "length: 2 dtype: UINT8"); };
  const auto one = open();
  CHECK(one->index() == open()->index());
  Put("a", "9876543210");
  CHECK(one->index() != open()->index());
  CHECK(one->version() != open()->version());
}

}  // namespace
}  // namespace forebay::dataset::tokens

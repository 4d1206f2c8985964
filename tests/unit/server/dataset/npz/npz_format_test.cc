#include "server/dataset/npz/npz_format.h"

#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include "server/base/working_memory.h"
#include "server/dataset/npz/npz_archive.h"
#include "server/dataset/npz/npz_parser.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/suite.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/npz/golden_npz.h"

namespace forebay::dataset::npz {
namespace {

using tests::Contains;
using tests::ElementsAre;
using tests::HasCode;
using tests::IsOk;
using tests::StartsWith;

absl::Span<const std::uint8_t> AsBytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string TextOf(absl::Span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Returns the values that a format reads from a file, as .npy files, or the
// error.
std::vector<std::string> Values(const std::vector<std::string>& names,
                                const std::string& file) {
  const auto format = *NpzFormat::Create(names, false);
  std::vector<FieldValue> values(names.size());
  ValueBuffers buffers;
  const absl::Status status =
      format->ReadValues(AsBytes(file), absl::MakeSpan(values), &buffers);
  if (!status.ok()) return {std::string(status.message())};
  std::vector<std::string> found;
  for (const FieldValue& value : values) {
    if (const auto* const range = std::get_if<FieldRange>(&value)) {
      found.push_back(file.substr(range->offset, range->length));
    } else {
      found.push_back(TextOf(std::get<ComputedBytes>(value).bytes));
    }
  }
  return found;
}

absl::StatusOr<records::FileRecords> Parse(
    const std::vector<std::string>& names, const std::string& file) {
  base::WorkingMemory memory(base::AmpleBudget(), "a test");
  auto parser = NpzParser::Create({"a.npz", {file.size(), 1}}, &names, &memory);
  if (!parser.ok()) return parser.status();
  while (const auto read = (*parser)->next_read()) {
    const absl::Status taken =
        (*parser)->Take(AsBytes(file).subspan(read->offset, read->length));
    if (!taken.ok()) return taken;
  }
  return (*parser)->TakeRecords();
}

class NpzFormatTest {
 public:
  using Subject = std::string;

  explicit NpzFormatTest(const Subject& name) : name_(name) {}

 protected:
  const std::string name_;
};

SUITE_CASE(NpzFormatTest, "The npz format finds the arrays of a file",
           "[npz][npz_format]") {
  const std::string file = GoldenNpz(name_);
  const std::uint8_t more = name_[0] == 'd' ? 1 : 0;
  const std::vector<std::string> found = Values({"y", "scalar"}, file);
  CAPTURE(found.front());
  REQUIRE(found.size() == 2);
  CHECK_THAT(found[0], Contains("'|u1'"));
  CHECK(found[0].substr(128) == std::string("\0\1\2\3\4\5", 5u + more));
  std::int64_t scalar = 0;
  REQUIRE(found[1].size() == 128 + sizeof(scalar));
  std::memcpy(&scalar, found[1].data() + 128, sizeof(scalar));
  CHECK(scalar == 7 + more);
}

TEST_CASE("The npz format decompresses the arrays of a sample into one buffer",
          "[npz][npz_format]") {
  const std::string file = GoldenNpz("deflated.npz");
  const auto format = *NpzFormat::Create({"x", "y"}, false);
  std::vector<std::uint8_t> scratch;
  const auto ask = [&](std::uint64_t bytes) {
    UNSCOPED_INFO("asked twice");
    CHECK(scratch.empty());
    scratch.resize(bytes);
    return absl::MakeSpan(scratch);
  };
  const DecompressionRoom room = ask;
  ValueBuffers buffers(&room);
  std::vector<FieldValue> values(2);
  REQUIRE_THAT(
      format->ReadValues(AsBytes(file), absl::MakeSpan(values), &buffers),
      IsOk());
  CHECK(buffers.bytes() == 0u);
  CHECK(std::get<ComputedBytes>(values[0]).bytes.data() == scratch.data());
  CHECK(TextOf(std::get<ComputedBytes>(values[1]).bytes).substr(128) ==
        std::string("\0\1\2\3\4\5", 6));
}

SUITE_CASE(NpzFormatTest, "The npz parser measures the arrays of a file",
           "[npz][npz_format]") {
  const std::string file = GoldenNpz(name_);
  const std::uint64_t more = name_[0] == 'd' ? 1 : 0;
  const auto records = Parse({"long", "x"}, file);
  REQUIRE_THAT(records, IsOk());
  CHECK(records->begin == 0);
  CHECK_THAT(records->ends, ElementsAre(file.size()));
  REQUIRE(records->bounds.size() == 2);
  CHECK(records->bounds[0].longest == 128 + 2 * (2000 + more));
  CHECK(records->bounds[1].shortest == 128 + 24 * (5 + more));
}

SUITE_CASE(NpzFormatTest,
           "The npz format notices damage in each byte of an array",
           "[npz][npz_format]") {
  const std::string file = GoldenNpz(name_);
  const auto members = *ReadMembers(AsBytes(file));
  const zip::ZipMember& member = *FindArray(members, "y");
  for (std::uint64_t i = 0; i < member.compressed; ++i) {
    std::string damaged = file;
    damaged[member.header_offset + zip::kHeaderBytes + member.name.size() +
            i] ^= 0x40;
    const auto found = Values({"y"}, damaged);
    // The damaged byte may lie in the header's Zip64 extra field (APPNOTE
    // 4.5.3), before the data.
    if (found.front() == Values({"y"}, file).front()) continue;
    CHECK_THAT(found.front(), StartsWith("y: "));
  }
}

SUITE_CASE(NpzFormatTest,
           "The npz format and its parser notice that a file is cut off",
           "[npz][npz_format]") {
  const std::string file = GoldenNpz(name_);
  for (std::size_t bytes = 0; bytes < file.size(); bytes += 7) {
    CHECK_FALSE(Parse({"x"}, file.substr(0, bytes)).ok());
    CHECK(Values({"x"}, file.substr(0, bytes)).size() == 1);
  }
}

const tests::RunsOn<NpzFormatTest> kFiles({{"stored", "stored.npz"},
                                           {"deflated", "deflated.npz"}});

TEST_CASE(
    "The npz format names a missing array together with those that there are",
    "[npz][npz_format]") {
  const std::string file = GoldenNpz("stored.npz");
  CHECK(Parse({"z"}, file).status() ==
        absl::InvalidArgumentError(
            "a.npz: there is no array z; there are x, y, scalar, long, "
            "words"));
  CHECK_THAT(Values({"z"}, file),
             ElementsAre("there is no array z; there are x, y, scalar, long, "
                         "words"));
  CHECK_THAT(Values({"z"}, GoldenNpz("empty.npz")),
             ElementsAre("there is no array z"));
}

TEST_CASE(
    "The npz format demands that the names of its arrays are valid field names",
    "[npz][npz_format]") {
  CHECK_FALSE(NpzFormat::Create({}, false).ok());
  CHECK_FALSE(NpzFormat::Create({"a", "b", "a"}, false).ok());
  CHECK_FALSE(NpzFormat::Create({std::string(32, 'a')}, false).ok());
  CHECK_FALSE(NpzFormat::Create({""}, false).ok());
  // The number of names is checked first, so that a long list costs little.
  CHECK_THAT(NpzFormat::Create(std::vector<std::string>(16, "a"), false)
                 .status()
                 .ToString(),
             Contains("there are 16 arrays"));
}

TEST_CASE("An npz format's text makes the same format again",
          "[npz][npz_format]") {
  const auto format = *NpzFormat::Create({"x", "arr_0", "a b"}, false);
  const auto again = NpzFormat::Parse(format->text());
  REQUIRE_THAT(again, IsOk());
  CHECK((*again)->text() == format->text());
  for (const std::string_view text :
       {"", "npz files", "npz filesx", "npz files\1x", "mds"}) {
    CAPTURE(text);
    CHECK_THAT(NpzFormat::Parse(text), HasCode(absl::StatusCode::kDataLoss));
  }
}

TEST_CASE("An npz sample with too many deflated bytes is not decompressed",
          "[npz][npz_format]") {
  zip::ZipMember member = {.name = "a.npy",
                           .compressed = 1 << 20,
                           .length = std::uint64_t{1} << 29,
                           .method = zip::ZipMethod::kDeflated};
  std::uint64_t decompressed = 0;
  CHECK_THAT(CountDecompressed(member, &decompressed), IsOk());
  CHECK_THAT(CountDecompressed(member, &decompressed), IsOk());
  CHECK_THAT(CountDecompressed(member, &decompressed),
             HasCode(absl::StatusCode::kUnimplemented));
  member.length = UINT64_MAX;
  CHECK_FALSE(CountDecompressed(member, &decompressed).ok());
  member.method = zip::ZipMethod::kStored;
  CHECK_THAT(CountDecompressed(member, &decompressed), IsOk());
}

TEST_CASE("Npz files in classes have a label", "[npz][npz_format]") {
  const auto format = NpzFormat::Create({"x"}, true);
  REQUIRE_THAT(format, IsOk());
  CHECK((*format)->class_field() == std::size_t{1});
  CHECK((*format)->text() != (*NpzFormat::Create({"x"}, false))->text());
  const auto again = NpzFormat::Parse((*format)->text());
  REQUIRE_THAT(again, IsOk());
  CHECK((*again)->class_field() == std::size_t{1});
  CHECK((*NpzFormat::Create({"x"}, false))->class_field() == std::nullopt);
}

TEST_CASE("The label of npz files takes one of the fields and its name",
          "[npz][npz_format]") {
  CHECK_FALSE(NpzFormat::Create({"x", "label"}, true).ok());
  CHECK_THAT(NpzFormat::Create({"x", "label"}, false), IsOk());
  std::vector<std::string> names;
  for (int i = 0; i < 15; ++i) names.push_back("x" + std::to_string(i));
  CHECK_THAT(NpzFormat::Create(names, false), IsOk());
  CHECK_FALSE(NpzFormat::Create(names, true).ok());
}

}  // namespace
}  // namespace forebay::dataset::npz

#include "server/dataset/tfrecord/tfrecord_parser.h"

#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/tfrecord/example_builder.h"

namespace forebay::dataset::tfrecord {
namespace {

using tests::Contains;
using tests::ElementsAre;
using tests::HasCode;
using tests::IsEmpty;
using tests::IsOk;
using tests::MatchesRegex;

// Parses a file. Returns how many bytes the parser read.
absl::StatusOr<std::uint64_t> Parse(const std::string& file,
                                    const ReadSizes& sizes,
                                    const RecordFields* measured,
                                    records::FileRecords* found) {
  base::WorkingMemory memory(base::AmpleBudget(), "records");
  TfrecordParser parser({"a.tfrecord", {.size = file.size()}}, sizes, measured,
                        &memory);
  std::uint64_t read = 0;
  while (const auto next = parser.next_read()) {
    CHECK(next->length > 0);
    CHECK(next->offset + next->length <= file.size());
    read += next->length;
    absl::Status taken =
        parser.Take(AsBytes(file).subspan(next->offset, next->length));
    if (!taken.ok()) return taken;
  }
  *found = parser.TakeRecords();
  return read;
}

records::FileRecords Parsed(const std::string& file,
                            const ReadSizes& sizes = {}) {
  records::FileRecords found;
  const auto read = Parse(file, sizes, nullptr, &found);
  CHECK_THAT(read, IsOk());
  return found;
}

std::string ErrorOf(const std::string& file) {
  records::FileRecords found;
  return std::string(Parse(file, {}, nullptr, &found).status().message());
}

TEST_CASE("The TFRecord parser finds records however much is read at a time",
          "[tfrecord][tfrecord_parser]") {
  const std::string file =
      Frame("") + Frame("abc") + Frame(std::string(10'000, 'x')) + Frame("d");
  for (const ReadSizes& sizes :
       {ReadSizes{12, 12}, ReadSizes{13, 1000}, ReadSizes{4096, 1 << 18}}) {
    CHECK_THAT(Parsed(file, sizes).ends,
               ElementsAre(16, 35, 10'051, file.size()));
  }
  CHECK_THAT(Parsed("").ends, IsEmpty());
}

TEST_CASE("The TFRecord parser steps over large records",
          "[tfrecord][tfrecord_parser]") {
  std::string file;
  for (int i = 0; i < 20; ++i) file += Frame(std::string(1 << 20, 'x'));
  records::FileRecords found;
  const auto read = Parse(file, {}, nullptr, &found);
  REQUIRE_THAT(read, IsOk());
  CHECK(found.ends.size() == 20);
  CHECK(*read <= 20 * 4096);
}

TEST_CASE("The TFRecord parser measures lists of any length",
          "[tfrecord][tfrecord_parser]") {
  const auto fields = RecordFields::OfExamples(
      std::vector<std::string>{"a"}, std::vector<std::string>{"float32[n]"});
  REQUIRE_THAT(fields, IsOk());
  std::string damaged = Frame(Example({{"a", FloatFeature({1, 2, 3, 4})}}));
  damaged[20] ^= 1;
  const std::string file = Frame(Example({{"a", FloatFeature({1, 2})}})) +
                           damaged + Frame("") +
                           Frame(Example({{"a", FloatFeature({1, 2, 3})}}));
  for (const ReadSizes& sizes : {ReadSizes{12, 12}, ReadSizes{4096, 1 << 18}}) {
    records::FileRecords found;
    REQUIRE_THAT(Parse(file, sizes, &*fields, &found), IsOk());
    CHECK(found.ends.size() == 4);
    CHECK_THAT(found.bounds, ElementsAre(records::LengthBounds{.shortest = 0,
                                                               .longest = 12}));
  }
}

TEST_CASE("The TFRecord parser reports each truncation within a record",
          "[tfrecord][tfrecord_parser]") {
  const std::string file = Frame("abc") + Frame("defg");
  for (std::size_t length = 1; length < file.size(); ++length) {
    if (length == 19) continue;
    CAPTURE(length);
    CHECK_THAT(ErrorOf(file.substr(0, length)),
               MatchesRegex("a.tfrecord: at byte (0|19): is truncated: .*"));
  }
}

TEST_CASE("The TFRecord parser says which record is damaged",
          "[tfrecord][tfrecord_parser]") {
  std::string file = Frame("abc") + Frame("defg");
  file[19] ^= 1;
  CHECK(ErrorOf(file) ==
        "a.tfrecord: at byte 19: is not a TFRecord file, or damaged: the "
        "checksum of a record's length does not match");
  CHECK(ErrorOf(Frame(std::string(5, 'x')).substr(0, 20)) ==
        "a.tfrecord: at byte 0: is truncated: a record has 5 bytes, of "
        "which 4 are there");
}

TEST_CASE("The TFRecord parser reports huge record lengths as too long",
          "[tfrecord][tfrecord_parser]") {
  for (const std::uint64_t length :
       {std::uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 15, UINT64_MAX - 16}) {
    std::string payload(reinterpret_cast<const char*>(&length), sizeof(length));
    // A frame ends with its payload and the payload's checksum. Here the
    // payload is a length, so these bytes are also a valid beginning of a
    // frame.
    const std::string frame = Frame(payload);
    const std::string file = frame.substr(12) + std::string(100, 'x');
    CHECK_THAT(ErrorOf(file), Contains("of which 96 are there"));
  }
}

TEST_CASE("The TFRecord parser counts records in its memory",
          "[tfrecord][tfrecord_parser]") {
  std::string file;
  for (int i = 0; i < 200'000; ++i) file += Frame("");
  base::MemoryBudget budget(1 << 20);
  base::WorkingMemory memory(&budget, "records");
  TfrecordParser parser({"a.tfrecord", {.size = file.size()}}, {}, nullptr,
                        &memory);
  absl::Status status;
  while (status.ok()) {
    const auto next = parser.next_read();
    REQUIRE(next.has_value());
    status = parser.Take(AsBytes(file).subspan(next->offset, next->length));
  }
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace forebay::dataset::tfrecord

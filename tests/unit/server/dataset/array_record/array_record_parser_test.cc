#include "server/dataset/array_record/array_record_parser.h"

#include <string>
#include <vector>

#include "server/base/memory_budget.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/array_record/array_record_writer.h"
#include "tests/unit/server/dataset/array_record/golden_files.h"

namespace forebay::dataset::array_record {
namespace {

using tests::Contains;
using tests::ElementsAre;
using tests::HasCode;
using tests::IsEmpty;
using tests::IsOk;

using records::LengthBounds;
using tfrecord::RecordFields;

RecordFields Whole(std::string_view type) {
  auto fields = RecordFields::OfPayload(type);
  CHECK_THAT(fields, IsOk());
  return *std::move(fields);
}

RecordFields Features(const std::vector<std::string>& names,
                      const std::vector<std::string>& types) {
  auto fields = RecordFields::OfExamples(names, types);
  CHECK_THAT(fields, IsOk());
  return *std::move(fields);
}

// The records that the parser found, and the bytes that it read.
struct Parsed {
  records::FileRecords found;
  std::uint64_t read = 0;
};

absl::StatusOr<Parsed> Parse(const std::string& file,
                             const RecordFields& fields,
                             const ReadSizes& sizes = {},
                             base::MemoryBudget* budget = nullptr) {
  base::WorkingMemory memory(budget == nullptr ? base::AmpleBudget() : budget,
                             "records");
  auto parser = ArrayRecordParser::Create("a.array_record", file.size(), sizes,
                                          &fields, &memory);
  if (!parser.ok()) return parser.status();
  Parsed parsed;
  while (const auto next = (*parser)->next_read()) {
    CHECK(next->length > 0);
    CHECK(next->offset + next->length <= file.size());
    parsed.read += next->length;
    const absl::Status taken =
        (*parser)->Take(AsBytes(file).subspan(next->offset, next->length));
    if (!taken.ok()) return taken;
  }
  parsed.found = (*parser)->TakeRecords();
  return parsed;
}

Parsed Found(const std::string& file, const RecordFields& fields,
             const ReadSizes& sizes = {}) {
  auto parsed = Parse(file, fields, sizes);
  CHECK_THAT(parsed, IsOk());
  return parsed.ok() ? *std::move(parsed) : Parsed();
}

std::string ThreeChunks() {
  return FileOf({ChunkOf({"abc", "d"}), ChunkOf({"ef"}),
                 ChunkOf({"", "", std::string(1000, 'g')})});
}

TEST_CASE("The ArrayRecord parser makes a record's extent its chunk",
          "[array_record][array_record_parser]") {
  const Parsed parsed = Found(ThreeChunks(), Whole("image"));
  CHECK_THAT(parsed.found.begins, ElementsAre(64, 64, 112, 157, 157, 157));
  CHECK_THAT(parsed.found.ends, ElementsAre(112, 112, 157, 1203, 1203, 1203));
  CHECK_THAT(parsed.found.decompressed, ElementsAre(4, 4, 2, 1000, 1000, 1000));
  CHECK_THAT(parsed.found.bounds,
             ElementsAre(LengthBounds{0, 1000}, LengthBounds{2, 1000}));
  // The parser reads the last header, but no chunk's data.
  CHECK(parsed.read == (1 << 17) - 1203);
}

TEST_CASE("An ArrayRecord file may have no records",
          "[array_record][array_record_parser]") {
  const Parsed parsed = Found(FileOf({}), Whole("bytes"));
  CHECK_THAT(parsed.found.ends, IsEmpty());
  CHECK_THAT(parsed.found.bounds, IsEmpty());
}

TEST_CASE("The ArrayRecord parser reads chunks of several records that vary",
          "[array_record][array_record_parser]") {
  for (const std::uint64_t most_read : {1, 1000, 1 << 20}) {
    const Parsed parsed =
        Found(ThreeChunks(), Whole("bytes"), {.min = 0, .max = most_read});
    CHECK_THAT(parsed.found.bounds,
               ElementsAre(LengthBounds{0, 1000}, LengthBounds{2, 1000}));
    CHECK(parsed.found.ends.size() == 6);
    // A record that is alone in its chunk is as long as the chunk's data.
    CHECK_THAT(parsed.found.decompressed, ElementsAre(3, 1, 2, 0, 0, 1000));
  }
  const std::string alone = FileOf({ChunkOf({"abc"}), ChunkOf({"defg"})});
  const Parsed parsed = Found(alone, Whole("bytes"));
  CHECK_THAT(parsed.found.bounds,
             ElementsAre(LengthBounds{0, 4}, LengthBounds{3, 4}));
}

TEST_CASE(
    "The ArrayRecord parser measures the records of ArrayRecord's own writer",
    "[array_record][array_record_parser]") {
  for (const GoldenFile& golden : GoldenFiles()) {
    LengthBounds lengths;
    for (const GoldenRecord& record : golden.records)
      lengths.Add({record.length, record.length});
    const std::string file = GoldenBytes(golden.name);
    // The length of varying records is measured, whatever their chunks say.
    const Parsed parsed = Found(file, Whole("uint8[n]"));
    CAPTURE(golden.name);
    CHECK(parsed.found.ends.size() == golden.records.size());
    if (golden.records.empty()) continue;
    CHECK(parsed.found.bounds[0] == lengths);
    CHECK(Found(file, Whole("bytes")).found.bounds[0].longest ==
          lengths.longest);
  }
}

TEST_CASE("The ArrayRecord parser measures features of any length",
          "[array_record][array_record_parser]") {
  const RecordFields fields =
      Features({"scores", "name"}, {"float32[n]", "text"});
  for (const char* const name : {"examples", "examples_8"}) {
    const Parsed parsed = Found(GoldenBytes(name), fields);
    CAPTURE(name);
    CHECK(parsed.found.bounds[0] == LengthBounds{0, 12});
    CHECK(parsed.found.bounds[1] == LengthBounds{8, 9});
  }
}

TEST_CASE(
    "The ArrayRecord parser leaves damaged chunks to be told when they are "
    "read",
    "[array_record][array_record_parser]") {
  std::string file = ThreeChunks();
  file[110] ^= 1;
  const Parsed parsed = Found(file, Whole("bytes"));
  CHECK(parsed.found.ends.size() == 6);
  CHECK(parsed.found.bounds[0] == LengthBounds{0, 1000});
}

TEST_CASE("The ArrayRecord parser's errors name the file",
          "[array_record][array_record_parser]") {
  const auto error_of = [](const std::string& file) {
    const auto parsed = Parse(file, Whole("bytes"));
    CHECK_FALSE(parsed.ok());
    return std::string(parsed.status().message());
  };
  CHECK_THAT(error_of(""), Contains("a.array_record: is not an ArrayRecord"));
  CHECK_THAT(error_of(std::string(1 << 17, 'x')),
             Contains("a.array_record: at byte 65536: is not an ArrayRecord"));
  CHECK_THAT(error_of(GoldenBytes("transposed")), Contains("transposed"));
  RawChunk transposed = ChunkOf({"a", "b"});
  transposed.type = 't';
  CHECK_THAT(error_of(FileOf({transposed})),
             Contains("a.array_record: at byte 64: its records"));
}

TEST_CASE("The ArrayRecord parser refuses a chunk that never fits into memory",
          "[array_record][array_record_parser]") {
  base::MemoryBudget budget(8 << 20);
  RawChunk chunk = ChunkOf({"a"});
  chunk.decoded_bytes = 9 << 20;
  const auto parsed = Parse(FileOf({chunk}), Whole("image"), {}, &budget);
  CHECK_THAT(parsed, HasCode(absl::StatusCode::kResourceExhausted));
  for (const std::uint64_t huge : {std::uint64_t{1} << 63, UINT64_MAX}) {
    chunk.decoded_bytes = huge;
    CHECK_THAT(Parse(FileOf({chunk}), Whole("image"), {}, &budget),
               HasCode(absl::StatusCode::kResourceExhausted));
  }
  CHECK(budget.used() == 0);
}

}  // namespace
}  // namespace forebay::dataset::array_record

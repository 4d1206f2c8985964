#include "server/dataset/array_record/footer.h"

#include <string>
#include <vector>

#include "server/base/memory_budget.h"
#include "server/dataset/array_record/footer_finder.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/array_record/array_record_writer.h"
#include "tests/unit/server/dataset/array_record/golden_files.h"

namespace forebay::dataset::array_record {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

using Chunks = std::vector<ListedChunk>;

absl::StatusOr<Chunks> ChunksOf(const std::string& file,
                                std::uint64_t read_bytes,
                                base::WorkingMemory* memory) {
  auto finder = FooterFinder::Create(file.size(), read_bytes, memory);
  if (!finder.ok()) return finder.status();
  while (const auto wanted = finder->wanted()) {
    CHECK(wanted->length <= file.size());
    CHECK(wanted->offset <= file.size() - wanted->length);
    const absl::Status seen =
        finder->Parse(AsBytes(file).subspan(wanted->offset, wanted->length));
    if (!seen.ok()) return seen;
  }
  CHECK(finder->footer().has_value());
  Chunks chunks;
  while (true) {
    const auto chunk = finder->footer()->Next();
    if (!chunk.ok()) return chunk.status();
    if (!chunk->has_value()) return chunks;
    chunks.push_back(**chunk);
  }
}

absl::StatusOr<Chunks> ChunksOf(const std::string& file,
                                std::uint64_t read_bytes = 0) {
  base::WorkingMemory memory(base::AmpleBudget(), "a footer");
  return ChunksOf(file, read_bytes, &memory);
}

std::string ErrorOf(const std::string& file) {
  const auto chunks = ChunksOf(file);
  CHECK_THAT(chunks, HasCode(absl::StatusCode::kDataLoss));
  return std::string(chunks.status().message());
}

FileWriter TwoChunks() {
  FileWriter file;
  file.AddListed(ChunkOf({"abc", "d"}));
  file.AddListed(ChunkOf({"ef"}));
  return file;
}

TEST_CASE("An ArrayRecord footer lists its chunks whatever is read at a time",
          "[array_record][footer]") {
  for (const std::uint64_t read_bytes : {0, 65'536, 100'000, 1 << 30}) {
    const auto chunks = ChunksOf(TwoChunks().End(), read_bytes);
    REQUIRE_THAT(chunks, IsOk());
    CHECK(*chunks == Chunks{{64, 112, 2, 4}, {112, 157, 1, 2}});
  }
  const auto none = ChunksOf(FileWriter().End());
  REQUIRE_THAT(none, IsOk());
  CHECK(none->empty());
}

TEST_CASE("An ArrayRecord footer lists all chunks of ArrayRecord's own writer",
          "[array_record][footer]") {
  for (const GoldenFile& golden : GoldenFiles()) {
    const auto chunks = ChunksOf(GoldenBytes(golden.name));
    UNSCOPED_INFO(golden.name << ": " << chunks.status());
    REQUIRE_THAT(chunks, IsOk());
    std::uint64_t records = 0;
    for (const ListedChunk& chunk : *chunks) records += chunk.records;
    CAPTURE(golden.name);
    CHECK(records == golden.records.size());
  }
}

TEST_CASE("Files of other sizes are not ArrayRecord files",
          "[array_record][footer]") {
  const std::string file = TwoChunks().End();
  for (const std::uint64_t size :
       {0ul, 1ul, 65'535ul, file.size() - 1, file.size() - 4096})
    CHECK_THAT(ErrorOf(file.substr(0, size)), Contains("or truncated"));
  CHECK_THAT(ErrorOf(file.substr(0, 65'536)), Contains("no chunk of records"));
  CHECK_THAT(ErrorOf(std::string(1 << 17, 'x')),
             Contains("at byte 65536: is not an ArrayRecord file"));
}

TEST_CASE("An ArrayRecord postscript that says no valid place is refused",
          "[array_record][footer]") {
  const auto error_of = [](const std::string& postscript) {
    return ErrorOf(TwoChunks().EndWith(TwoChunks().Footer(), postscript));
  };
  const std::string magic = Number(2, 0x71930e704fdae05e);
  CHECK_THAT(error_of(""), Contains("no list of chunks"));
  CHECK_THAT(error_of(magic), Contains("no list of chunks"));
  CHECK_THAT(error_of(Number(1, 157)), Contains("no list of chunks"));
  CHECK_THAT(error_of(Number(1, 157) + Number(2, 1)),
             Contains("no list of chunks"));
  CHECK_THAT(error_of(magic + "\xff"), Contains("no list of chunks"));
  for (const std::uint64_t offset :
       {std::uint64_t{0}, std::uint64_t{24}, std::uint64_t{65'536},
        std::uint64_t{1} << 63, UINT64_MAX})
    CHECK_THAT(error_of(Number(1, offset) + magic), Contains("cannot lie"));
  CHECK_THAT(error_of(Number(1, 64) + magic), Contains("at byte 64: "));
}

TEST_CASE("Impossible chunk lists in an ArrayRecord footer are refused",
          "[array_record][footer]") {
  const auto error_of = [](const std::vector<FileWriter::Listed>& listed) {
    FileWriter file = TwoChunks();
    for (const FileWriter::Listed& one : listed) file.List(one);
    return ErrorOf(file.End());
  };
  for (const std::uint64_t offset :
       {std::uint64_t{0}, std::uint64_t{112}, std::uint64_t{157},
        std::uint64_t{1} << 63, UINT64_MAX})
    CHECK_THAT(error_of({{offset, 1, 1}}), Contains("where none can be"));
  CHECK_THAT(error_of({{113, 1, 0}}), Contains("has one of 0 records"));
  CHECK_THAT(error_of({{113, 1, std::uint64_t{1} << 62}}),
             Contains("records in"));
  CHECK_THAT(error_of({{113, 1, 45}}), Contains("records in"));
}

TEST_CASE("ArrayRecord footers that contradict themselves are refused",
          "[array_record][footer]") {
  const auto error_of = [](void (*change)(std::vector<std::string>*)) {
    FileWriter file = TwoChunks();
    std::vector<std::string> footer = file.Footer();
    change(&footer);
    return ErrorOf(file.EndWith(footer));
  };
  using Footer = std::vector<std::string>*;
  CHECK_THAT(error_of([](Footer f) { f->clear(); }), Contains("beginning"));
  CHECK_THAT(error_of([](Footer f) { f->front() = ""; }),
             Contains("is none of an ArrayRecord file"));
  CHECK_THAT(error_of([](Footer f) { f->front() = Text(1, "\xff"); }),
             Contains("is malformed"));
  CHECK_THAT(error_of([](Footer f) { f->pop_back(); }),
             Contains("has 1 of 2 chunks"));
  CHECK_THAT(error_of([](Footer f) { f->back() = "\xff"; }),
             Contains("where none can be"));
  CHECK_THAT(error_of([](Footer f) {
               f->front() = Text(1, Number(1, 1) + Number(2, 2) + Number(3, 4));
             }),
             Contains("lacks 1 records"));
  CHECK_THAT(error_of([](Footer f) {
               f->front() = Text(1, Number(1, 1) + Number(2, 2) + Number(3, 2));
             }),
             Contains("has one of 1 records, of 0 that are left"));
}

TEST_CASE(
    "An ArrayRecord footer of another version or of transposed records is "
    "refused",
    "[array_record][footer]") {
  FileWriter file = TwoChunks();
  std::vector<std::string> footer = file.Footer();
  footer[0] = Text(1, Number(1, 2) + Number(2, 2) + Number(3, 3));
  const auto other = ChunksOf(file.EndWith(footer));
  CHECK_THAT(other, HasCode(absl::StatusCode::kUnimplemented));
  CHECK_THAT(other.status().message(), Contains("version 2"));
  const auto transposed = ChunksOf(GoldenBytes("transposed"));
  CHECK_THAT(transposed, HasCode(absl::StatusCode::kUnimplemented));
  CHECK_THAT(transposed.status().message(), Contains("transposed"));
}

TEST_CASE("The ArrayRecord footer's reader counts the memory that it holds",
          "[array_record][footer]") {
  base::MemoryBudget budget(1 << 20);
  {
    base::WorkingMemory memory(&budget, "a footer");
    FileWriter file = TwoChunks();
    // The decompressed list would need more memory than there is.
    FileWriter large;
    for (int i = 0; i < 100'000; ++i) large.List({64, 1, 1});
    const auto chunks = ChunksOf(large.End(), 0, &memory);
    CHECK_THAT(chunks, HasCode(absl::StatusCode::kResourceExhausted));
    CHECK_THAT(ChunksOf(file.End(), 0, &memory), IsOk());
  }
  CHECK(budget.used() == 0);
}

}  // namespace
}  // namespace forebay::dataset::array_record

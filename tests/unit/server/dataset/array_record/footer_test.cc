#include "server/dataset/array_record/footer.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/memory_budget.h"
#include "server/dataset/array_record/footer_finder.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/array_record/golden_files.h"
#include "tests/unit/server/dataset/array_record/made_file.h"

namespace forebay::dataset::array_record {
namespace {

using testing::HasSubstr;

using Chunks = std::vector<ListedChunk>;

absl::StatusOr<Chunks> ChunksOf(const std::string& file,
                                std::uint64_t read_bytes,
                                base::WorkingMemory* memory) {
  auto finder = FooterFinder::Create(file.size(), read_bytes, memory);
  if (!finder.ok()) return finder.status();
  while (const auto wanted = finder->wanted()) {
    EXPECT_LE(wanted->length, file.size());
    EXPECT_LE(wanted->offset, file.size() - wanted->length);
    const absl::Status seen =
        finder->See(AsBytes(file).subspan(wanted->offset, wanted->length));
    if (!seen.ok()) return seen;
  }
  EXPECT_TRUE(finder->found().has_value());
  Chunks chunks;
  while (true) {
    const auto chunk = finder->found()->Next();
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
  EXPECT_EQ(chunks.status().code(), absl::StatusCode::kDataLoss)
      << chunks.status();
  return std::string(chunks.status().message());
}

MadeFile TwoChunks() {
  MadeFile file;
  file.AddListed(ChunkOf({"abc", "d"}));
  file.AddListed(ChunkOf({"ef"}));
  return file;
}

TEST(FooterTest, ListsChunksWhateverIsReadAtATime) {
  for (const std::uint64_t read_bytes : {0, 65'536, 100'000, 1 << 30}) {
    const auto chunks = ChunksOf(TwoChunks().End(), read_bytes);
    ASSERT_TRUE(chunks.ok()) << chunks.status();
    EXPECT_EQ(*chunks, (Chunks{{64, 112, 2, 4}, {112, 157, 1, 2}}));
  }
  const auto none = ChunksOf(MadeFile().End());
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(*none, Chunks());
}

TEST(FooterTest, ListsAllChunksOfItsOwnWriter) {
  for (const GoldenFile& golden : GoldenFiles()) {
    const auto chunks = ChunksOf(GoldenBytes(golden.name));
    ASSERT_TRUE(chunks.ok()) << golden.name << ": " << chunks.status();
    std::uint64_t records = 0;
    for (const ListedChunk& chunk : *chunks) records += chunk.records;
    EXPECT_EQ(records, golden.records.size()) << golden.name;
  }
}

TEST(FooterTest, FilesOfOtherSizesAreNone) {
  const std::string file = TwoChunks().End();
  for (const std::uint64_t size :
       {0ul, 1ul, 65'535ul, file.size() - 1, file.size() - 4096})
    EXPECT_THAT(ErrorOf(file.substr(0, size)), HasSubstr("or truncated"));
  EXPECT_THAT(ErrorOf(file.substr(0, 65'536)),
              HasSubstr("no chunk of records"));
  EXPECT_THAT(ErrorOf(std::string(1 << 17, 'x')),
              HasSubstr("at byte 65536: is no ArrayRecord file"));
}

TEST(FooterTest, PostscriptsThatSayNoPlaceAreRefused) {
  const auto error_of = [](const std::string& postscript) {
    return ErrorOf(TwoChunks().EndWith(TwoChunks().Footer(), postscript));
  };
  const std::string magic = Number(2, 0x71930e704fdae05e);
  EXPECT_THAT(error_of(""), HasSubstr("no list of chunks"));
  EXPECT_THAT(error_of(magic), HasSubstr("no list of chunks"));
  EXPECT_THAT(error_of(Number(1, 157)), HasSubstr("no list of chunks"));
  EXPECT_THAT(error_of(Number(1, 157) + Number(2, 1)),
              HasSubstr("no list of chunks"));
  EXPECT_THAT(error_of(magic + "\xff"), HasSubstr("no list of chunks"));
  for (const std::uint64_t offset :
       {std::uint64_t{0}, std::uint64_t{24}, std::uint64_t{65'536},
        std::uint64_t{1} << 63, UINT64_MAX})
    EXPECT_THAT(error_of(Number(1, offset) + magic), HasSubstr("cannot lie"));
  EXPECT_THAT(error_of(Number(1, 64) + magic), HasSubstr("at byte 64: "));
}

TEST(FooterTest, ListsThatCannotBeAreRefused) {
  const auto error_of = [](const std::vector<MadeFile::Listed>& listed) {
    MadeFile file = TwoChunks();
    for (const MadeFile::Listed& one : listed) file.List(one);
    return ErrorOf(file.End());
  };
  for (const std::uint64_t offset :
       {std::uint64_t{0}, std::uint64_t{112}, std::uint64_t{157},
        std::uint64_t{1} << 63, UINT64_MAX})
    EXPECT_THAT(error_of({{offset, 1, 1}}), HasSubstr("where none can be"));
  EXPECT_THAT(error_of({{113, 1, 0}}), HasSubstr("has one of 0 records"));
  EXPECT_THAT(error_of({{113, 1, std::uint64_t{1} << 62}}),
              HasSubstr("records in"));
  EXPECT_THAT(error_of({{113, 1, 45}}), HasSubstr("records in"));
}

TEST(FooterTest, FootersThatContradictThemselvesAreRefused) {
  const auto error_of = [](void (*change)(std::vector<std::string>*)) {
    MadeFile file = TwoChunks();
    std::vector<std::string> footer = file.Footer();
    change(&footer);
    return ErrorOf(file.EndWith(footer));
  };
  using Footer = std::vector<std::string>*;
  EXPECT_THAT(error_of([](Footer f) { f->clear(); }), HasSubstr("beginning"));
  EXPECT_THAT(error_of([](Footer f) { f->front() = ""; }),
              HasSubstr("is none of an ArrayRecord file"));
  EXPECT_THAT(error_of([](Footer f) { f->front() = Text(1, "\xff"); }),
              HasSubstr("is malformed"));
  EXPECT_THAT(error_of([](Footer f) { f->pop_back(); }),
              HasSubstr("has 1 of 2 chunks"));
  EXPECT_THAT(error_of([](Footer f) { f->back() = "\xff"; }),
              HasSubstr("where none can be"));
  EXPECT_THAT(error_of([](Footer f) {
                f->front() =
                    Text(1, Number(1, 1) + Number(2, 2) + Number(3, 4));
              }),
              HasSubstr("lacks 1 records"));
  EXPECT_THAT(error_of([](Footer f) {
                f->front() =
                    Text(1, Number(1, 1) + Number(2, 2) + Number(3, 2));
              }),
              HasSubstr("has one of 1 records, of 0 that are left"));
}

TEST(FooterTest, RefusesOtherVersionsAndTransposedRecords) {
  MadeFile file = TwoChunks();
  std::vector<std::string> footer = file.Footer();
  footer[0] = Text(1, Number(1, 2) + Number(2, 2) + Number(3, 3));
  const auto other = ChunksOf(file.EndWith(footer));
  EXPECT_EQ(other.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(other.status().message()), HasSubstr("version 2"));
  const auto transposed = ChunksOf(GoldenBytes("transposed"));
  EXPECT_EQ(transposed.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(transposed.status().message()),
              HasSubstr("transposed"));
}

TEST(FooterTest, CountsWhatItHolds) {
  base::MemoryBudget budget(1 << 20);
  {
    base::WorkingMemory memory(&budget, "a footer");
    MadeFile file = TwoChunks();
    // The list is unpacked into more than there is.
    MadeFile large;
    for (int i = 0; i < 100'000; ++i) large.List({64, 1, 1});
    const auto chunks = ChunksOf(large.End(), 0, &memory);
    EXPECT_EQ(chunks.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_TRUE(ChunksOf(file.End(), 0, &memory).ok());
  }
  EXPECT_EQ(budget.used(), 0);
}

}  // namespace
}  // namespace forebay::dataset::array_record

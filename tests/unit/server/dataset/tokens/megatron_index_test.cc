#include "server/dataset/tokens/megatron_index.h"

#include <cstring>
#include <string>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/tokens/golden_tokens.h"

namespace forebay::dataset::tokens {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

absl::Span<const std::uint8_t> AsBytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Returns the lengths of the documents in tokens.
absl::StatusOr<std::vector<std::uint64_t>> Read(const std::string& index,
                                                std::uint64_t tokens) {
  const auto header = ParseMegatronHeader(
      AsBytes(index).subspan(0, kMegatronHeaderBytes), index.size());
  if (!header.ok()) return header.status();
  base::WorkingMemory memory(base::AmpleBudget(), "a test");
  std::vector<std::uint64_t> ends;
  const absl::Status read =
      ReadMegatronDocuments(*header, AsBytes(index), tokens, &ends, memory);
  if (!read.ok()) return read;
  std::uint64_t begin = 0;
  for (std::uint64_t& end : ends) {
    const std::uint64_t length = end - begin;
    begin = end;
    end = length;
  }
  return ends;
}

GoldenTokens Golden(const std::string& name) {
  for (GoldenTokens& one : AllGoldenTokens()) {
    if (one.name == name) return one;
  }
  FAIL_CHECK(name);
  return {};
}

template <typename Number>
std::string With(std::string text, std::size_t at, Number number) {
  std::memcpy(text.data() + at, &number, sizeof(number));
  return text;
}

std::string Refusal(const std::string& index, std::uint64_t tokens,
                    absl::StatusCode code) {
  const auto found = Read(index, tokens);
  CHECK_THAT(found, HasCode(code));
  return std::string(found.status().message());
}

TEST_CASE(
    "The Megatron index reader finds the documents that Megatron-LM finds",
    "[tokens][megatron_index]") {
  const auto all = AllGoldenTokens();
  REQUIRE(all.size() == 5);
  for (const GoldenTokens& one : all) {
    const auto header = ParseMegatronHeader(
        AsBytes(one.index).subspan(0, kMegatronHeaderBytes), one.index.size());
    UNSCOPED_INFO(one.name << header.status());
    REQUIRE_THAT(header, IsOk());
    CHECK(one.count * proto::SizeOf(header->dtype) == one.data.size());
    const auto documents = Read(one.index, one.count);
    UNSCOPED_INFO(one.name << documents.status());
    REQUIRE_THAT(documents, IsOk());
    CAPTURE(one.name);
    CHECK(*documents == one.documents);
  }
}

TEST_CASE("The Megatron index reader notices that an index is cut off",
          "[tokens][megatron_index]") {
  const GoldenTokens golden = Golden("sequences");
  for (std::size_t bytes = 0; bytes < golden.index.size(); ++bytes) {
    CAPTURE(bytes);
    CHECK_THAT(Read(golden.index.substr(0, bytes), golden.count),
               HasCode(absl::StatusCode::kDataLoss));
  }
  Refusal(golden.index + "more", golden.count, absl::StatusCode::kDataLoss);
}

TEST_CASE("The Megatron index reader says what it cannot read",
          "[tokens][megatron_index]") {
  const GoldenTokens golden = Golden("sequences");
  const std::string& index = golden.index;
  CHECK(Refusal("II*" + index, golden.count, absl::StatusCode::kDataLoss) ==
        "is not an index of Megatron-LM's");
  CHECK(Refusal(With<std::uint64_t>(index, 9, 2), golden.count,
                absl::StatusCode::kUnimplemented) ==
        "is of version 2, of which only 1 can be read");
  CHECK(Refusal(With<std::uint8_t>(index, 17, 7), golden.count,
                absl::StatusCode::kUnimplemented) ==
        "is of tokens with the type code 7, which is not an integer's");
  CHECK_THAT(Refusal(With<std::uint64_t>(index, 18, UINT64_MAX), golden.count,
                     absl::StatusCode::kDataLoss),
             Contains("18446744073709551615 sequences"));
  CHECK_THAT(Refusal(With<std::uint64_t>(index, 26, UINT64_MAX / 8 + 2),
                     golden.count, absl::StatusCode::kDataLoss),
             Contains("document indices"));
  CHECK(Refusal(index, golden.count + 1, absl::StatusCode::kDataLoss) ==
        "is of 141 tokens, but there are 142");
}

TEST_CASE("The Megatron index reader checks the numbers of sequences",
          "[tokens][megatron_index]") {
  const GoldenTokens golden = Golden("sequences");
  const std::string& index = golden.index;
  REQUIRE(golden.documents.size() == 5);
  const std::size_t lengths = kMegatronHeaderBytes;
  const std::size_t pointers = lengths + 7 * 4;
  const std::size_t documents = pointers + 7 * 8;
  REQUIRE(index.size() == documents + 6 * 8);
  CHECK(Refusal(With<std::int32_t>(index, lengths, -5), golden.count,
                absl::StatusCode::kDataLoss) ==
        "sequence 0 has -5 tokens, but there are 141 left");
  CHECK(Refusal(With<std::int32_t>(index, lengths, INT32_MAX), golden.count,
                absl::StatusCode::kDataLoss) ==
        "sequence 0 has 2147483647 tokens, but there are 141 left");
  CHECK(Refusal(With<std::int64_t>(index, pointers + 16, -20), golden.count,
                absl::StatusCode::kUnimplemented) ==
        "sequence 2 begins at byte -20 instead of 20: sequences must "
        "follow one another");
  for (const std::int64_t number : {-1, 8}) {
    CAPTURE(number);
    CHECK_THAT(Refusal(With<std::int64_t>(index, documents + 8, number),
                       golden.count, absl::StatusCode::kDataLoss),
               Contains("is damaged: document 1 begins with"));
  }
  CHECK_THAT(Refusal(With<std::int64_t>(index, documents, 1), golden.count,
                     absl::StatusCode::kDataLoss),
             Contains("document 0 begins with sequence 1 of 7"));
  CHECK_THAT(Refusal(With<std::int64_t>(index, documents + 40, 6), golden.count,
                     absl::StatusCode::kDataLoss),
             Contains("document 5 begins with sequence 6 of 7"));
}

}  // namespace
}  // namespace forebay::dataset::tokens

// A shard begins with a table (little-endian u32 each): the number of samples,
// the offset of each sample's start, and the offset of the last sample's end.
// The configuration lies between the table and the first sample. The parser
// reads the table and the configuration, but not the samples.
//
// Offsets must ascend, and the last offset must be the file's end. Therefore
// each sample lies within the file, and is not empty.
#include "server/dataset/mds/mds_shard.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::dataset::mds {
namespace {

// Bytes of each number in the table.
constexpr std::uint64_t kNumberBytes = sizeof(std::uint32_t);
// The most bytes of a configuration, which is parsed as a whole.
constexpr std::uint64_t kLongestConfiguration = std::uint64_t{1} << 20;

// Returns the number at index `i` in `bytes`, a part of the table.
std::uint64_t NumberAt(absl::Span<const std::uint8_t> bytes, std::size_t i) {
  std::uint32_t number = 0;
  std::memcpy(&number, bytes.data() + i * kNumberBytes, kNumberBytes);
  return number;
}

}  // namespace

std::optional<ByteRange> MdsShardParser::wanted() const {
  switch (part_) {
    case Part::kStart:
      return ByteRange{0, std::min(kNumberBytes, size())};
    case Part::kOffsets:
      return ByteRange{kNumberBytes, table_end_ - kNumberBytes};
    case Part::kColumns:
      return ByteRange{table_end_, records_.begin - table_end_};
    case Part::kEnd:
      break;
  }
  return std::nullopt;
}

std::optional<ByteRange> MdsShardParser::next_read() const {
  const auto next = wanted();
  // An empty file has no bytes to read. ColumnChoice has refused such files.
  if (!next.has_value() || size() == 0) return std::nullopt;
  return read_length_.For(*next, size());
}

absl::Status MdsShardParser::Take(absl::Span<const std::uint8_t> bytes) {
  const auto read = next_read();
  FOREBAY_CHECK(read.has_value() && bytes.size() == read->length);
  for (auto next = wanted(); next.has_value(); next = wanted()) {
    if (next->offset > read->offset + bytes.size() ||
        next->length > read->offset + bytes.size() - next->offset) {
      break;
    }
    absl::Status seen =
        Parse(bytes.subspan(next->offset - read->offset, next->length));
    if (absl::IsResourceExhausted(seen)) return seen;
    if (!seen.ok()) return base::Annotate(seen, file_.name);
  }
  return absl::OkStatus();
}

absl::Status MdsShardParser::Parse(absl::Span<const std::uint8_t> bytes) {
  switch (part_) {
    case Part::kStart:
      return ParseStart(bytes);
    case Part::kOffsets:
      return ParseOffsets(bytes);
    default:
      return ParseConfiguration(bytes);
  }
}

absl::Status MdsShardParser::ParseStart(absl::Span<const std::uint8_t> start) {
  if (start.size() < kNumberBytes)
    return absl::DataLossError("is not an MDS shard: it is too short");
  samples_ = NumberAt(start, 0);
  // The table has samples_ + 2 numbers: the number of samples, and samples_ + 1
  // offsets. samples_ has 32 bits, so the sum does not overflow.
  table_end_ = (samples_ + 2) * kNumberBytes;
  if (table_end_ > size()) {
    return absl::DataLossError(
        absl::StrCat("is not an MDS shard, or truncated: it has ", size(),
                     " bytes, but ", samples_, " samples"));
  }
  part_ = Part::kOffsets;
  return absl::OkStatus();
}

absl::Status MdsShardParser::ParseOffsets(
    absl::Span<const std::uint8_t> offsets) {
  FOREBAY_RETURN_IF_ERROR(memory_->MakeRoom(records_.ends, samples_));
  records_.begin = NumberAt(offsets, 0);
  if (records_.begin <= table_end_ || records_.begin > size() ||
      records_.begin - table_end_ > kLongestConfiguration) {
    return absl::DataLossError("is not an MDS shard, or its table is damaged");
  }
  std::uint64_t end = records_.begin;
  for (std::uint64_t i = 1; i <= samples_; ++i) {
    const std::uint64_t next = NumberAt(offsets, i);
    // A sample has at least one byte.
    if (next <= end) {
      return absl::DataLossError(absl::StrCat(
          "is damaged: sample ", i - 1, " ends where it begins, or before"));
    }
    records_.ends.push_back(end = next);
  }
  if (end != size()) {
    return absl::DataLossError(
        absl::StrCat("is truncated or damaged: its samples end at byte ", end,
                     " of ", size()));
  }
  part_ = Part::kColumns;
  return absl::OkStatus();
}

absl::Status MdsShardParser::ParseConfiguration(
    absl::Span<const std::uint8_t> json) {
  FOREBAY_ASSIGN_OR_RETURN(
      columns_,
      ParseColumns({reinterpret_cast<const char*>(json.data()), json.size()}));
  if (expected_ != nullptr && columns_ != *expected_) {
    return absl::InvalidArgumentError("has other columns than the first shard");
  }
  part_ = Part::kEnd;
  return absl::OkStatus();
}

}  // namespace forebay::dataset::mds

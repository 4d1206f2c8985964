// Fuzzes the parser of MDS shards. The parser ends for any bytes, and requests
// only bytes of the shard. It finds the same samples however many bytes it
// reads at a time. The values of all columns lie within their sample.

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/mds/mds_format.h"
#include "server/dataset/mds/mds_shard.h"
#include "tests/fuzz/require.h"
#include "tests/unit/server/base/ample_budget.h"

namespace {

using forebay::base::WorkingMemory;
using forebay::dataset::ComputedBytes;
using forebay::dataset::FieldRange;
using forebay::dataset::FieldValue;
using forebay::dataset::ReadSizes;
using forebay::dataset::ValueBuffers;
using forebay::dataset::mds::ChosenColumn;
using forebay::dataset::mds::MdsColumn;
using forebay::dataset::mds::MdsFormat;
using forebay::dataset::mds::MdsShardParser;
using forebay::dataset::records::FileRecords;
using forebay::fuzz::Require;
using forebay::fuzz::Touch;
using forebay::proto::FieldKind;
using Bytes = absl::Span<const std::uint8_t>;

struct Result {
  std::string error;
  FileRecords records;
  std::vector<MdsColumn> columns;
};

Result Parse(Bytes file, const ReadSizes& sizes) {
  WorkingMemory memory(forebay::base::AmpleBudget(), "samples");
  MdsShardParser parser({"a", {.size = file.size(), .stamp = 1}}, sizes,
                        nullptr, &memory);
  while (const auto read = parser.next_read()) {
    Require(read->length > 0 && read->offset <= file.size() &&
            read->length <= file.size() - read->offset);
    const absl::Status status =
        parser.Take(file.subspan(read->offset, read->length));
    if (!status.ok()) return {status.ToString(), {}, {}};
  }
  return {"", parser.TakeRecords(), parser.columns()};
}

// Returns all columns that can be fields. An array without a shape of its own
// has a number of rows that the sample tells.
std::vector<ChosenColumn> Choose(const std::vector<MdsColumn>& columns) {
  std::vector<ChosenColumn> chosen;
  for (std::size_t i = 0; i < columns.size() && chosen.size() < 15; ++i) {
    if (columns[i].kind == FieldKind::kSampleId) continue;
    ChosenColumn one{.column = i, .kind = columns[i].kind, .array = {}};
    if (columns[i].array.has_value()) {
      one.has_rows = !columns[i].array->shape.has_value();
      if (columns[i].array->dtype.has_value())
        one.array.dtype = *columns[i].array->dtype;
      if (!one.has_rows) one.array.shape = *columns[i].array->shape;
    }
    chosen.push_back(std::move(one));
  }
  return chosen;
}

void ReadSample(const MdsFormat& format, std::size_t fields, Bytes sample) {
  std::vector<FieldValue> values(fields);
  ValueBuffers buffers;
  if (!format.ReadValues(sample, absl::MakeSpan(values), &buffers).ok()) return;
  for (const FieldValue& value : values) {
    if (const auto* const range = std::get_if<FieldRange>(&value)) {
      Require(range->offset <= sample.size() &&
              range->length <= sample.size() - range->offset);
    } else if (const auto* const bytes = std::get_if<ComputedBytes>(&value)) {
      Touch(bytes->bytes.data(), bytes->bytes.size());
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const Bytes file(data, size);
  const Result little = Parse(file, {.min = 4, .max = 4});
  const Result much = Parse(file, {});
  Require(little.error == much.error &&
          little.records.ends == much.records.ends &&
          little.columns == much.columns);
  const std::vector<ChosenColumn> chosen = Choose(much.columns);
  if (chosen.empty()) return 0;
  const MdsFormat format(much.columns, chosen);
  std::uint64_t begin = much.records.begin;
  for (const std::uint64_t end : much.records.ends) {
    Require(end > begin && end <= size);
    ReadSample(format, chosen.size(), file.subspan(begin, end - begin));
    begin = end;
  }
  return 0;
}

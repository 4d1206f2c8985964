// Fuzzes the parser of ArrayRecord files. The parser ends for any list of
// chunks, and requests only bytes of the file. It finds the same records
// however many bytes it reads at a time. The records are those that the file
// was made from, and their fields lie within them. The input's hashes are
// corrected first, since no mutation finds them.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/array_record/array_record_format.h"
#include "server/dataset/records/build_record_index.h"
#include "server/dataset/records/record_index.h"
#include "server/dataset/tfrecord/field_guess.h"
#include "tests/fuzz/require.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/array_record/array_record_writer.h"

namespace {

using forebay::base::WorkingMemory;
using forebay::dataset::ComputedBytes;
using forebay::dataset::FieldRange;
using forebay::dataset::FieldValue;
using forebay::dataset::ReadSizes;
using forebay::dataset::ValueBuffers;
using forebay::dataset::array_record::ArrayRecordFormat;
using forebay::dataset::array_record::ChunkOf;
using forebay::dataset::array_record::FileOf;
using forebay::dataset::array_record::FileWriter;
using forebay::dataset::records::BuildRecordIndex;
using forebay::dataset::records::FileRecords;
using forebay::dataset::records::RecordIndex;
using forebay::dataset::tfrecord::GuessFields;
using forebay::dataset::tfrecord::RecordFields;
using forebay::fuzz::Require;
using forebay::fuzz::Touch;
using forebay::storage::ListedObject;
using Bytes = absl::Span<const std::uint8_t>;

struct Result {
  std::string error;
  FileRecords records;
};

Bytes AsBytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

Result Parse(const ArrayRecordFormat& format, Bytes file,
             const ReadSizes& sizes) {
  WorkingMemory memory(forebay::base::AmpleBudget(), "records");
  const auto parser =
      format.Parse({"a", {.size = file.size(), .stamp = 1}}, sizes, &memory);
  if (!parser.ok()) return {parser.status().ToString(), {}};
  while (const auto read = (*parser)->next_read()) {
    Require(read->length > 0 && read->offset <= file.size() &&
            read->length <= file.size() - read->offset);
    const absl::Status status =
        (*parser)->Take(file.subspan(read->offset, read->length));
    if (!status.ok()) return {status.ToString(), {}};
  }
  return {"", (*parser)->TakeRecords()};
}

std::vector<std::string> ReadRecord(const ArrayRecordFormat& format,
                                    const RecordIndex& index,
                                    std::uint64_t number, Bytes file) {
  const RecordIndex::Extent extent = index.ExtentOf(number);
  const Bytes chunk = file.subspan(extent.offset, extent.length);
  std::vector<FieldValue> values(format.FieldsOf(index).size());
  ValueBuffers buffers;
  if (!format
           .ReadValuesOf(index, number, chunk, absl::MakeSpan(values), &buffers)
           .ok())
    return {};
  std::vector<std::string> texts;
  for (const FieldValue& value : values) {
    Bytes bytes;
    if (const auto* const range = std::get_if<FieldRange>(&value)) {
      Require(range->offset <= chunk.size() &&
              range->length <= chunk.size() - range->offset);
      bytes = chunk.subspan(range->offset, range->length);
    } else if (const auto* const here = std::get_if<ComputedBytes>(&value)) {
      bytes = here->bytes;
    }
    Touch(bytes.data(), bytes.size());
    texts.emplace_back(reinterpret_cast<const char*>(bytes.data()),
                       bytes.size());
  }
  return texts;
}

// Returns the values of all records, or nothing if the file is refused.
std::optional<std::vector<std::vector<std::string>>> ReadAll(
    RecordFields fields, const std::string& text) {
  const Bytes file = AsBytes(text);
  const ArrayRecordFormat format(std::move(fields),
                                 forebay::base::AmpleBudget());
  const Result little = Parse(format, file, {.min = 1, .max = 1});
  Result much = Parse(format, file, {.min = 1 << 20, .max = 1 << 20});
  Require(little.error == much.error &&
          little.records.begins == much.records.begins &&
          little.records.ends == much.records.ends &&
          little.records.bounds == much.records.bounds);
  if (!much.error.empty()) return std::nullopt;
  WorkingMemory memory(forebay::base::AmpleBudget(), "an index");
  std::vector<FileRecords> records;
  records.push_back(std::move(much.records));
  const ListedObject listed = {"a", {.size = file.size(), .stamp = 1}};
  const auto index =
      BuildRecordIndex(format.text(), {&listed, 1}, std::move(records), memory);
  Require(index.ok());
  std::vector<std::vector<std::string>> all;
  for (std::uint64_t i = 0; i < (*index)->size(); ++i)
    all.push_back(ReadRecord(format, **index, i, file));
  return all;
}

RecordFields Whole(const char* type) {
  auto fields = RecordFields::OfPayload(type);
  Require(fields.ok());
  return *std::move(fields);
}

}  // namespace

// The input is pieces, each after one byte with its length in bytes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  std::vector<std::string> pieces;
  while (size > 0) {
    const std::size_t length = std::min<std::size_t>(data[0], size - 1);
    pieces.emplace_back(reinterpret_cast<const char*>(data + 1), length);
    data += length + 1;
    size -= length + 1;
  }
  if (pieces.empty()) return 0;
  // First the pieces are records. The first piece is in a chunk of its own.
  std::vector<Bytes> spans;
  for (const std::string& piece : pieces) spans.push_back(AsBytes(piece));
  const auto rest = ChunkOf({pieces.begin() + 1, pieces.end()});
  const std::string file = pieces.size() == 1
                               ? FileOf({ChunkOf(pieces)})
                               : FileOf({ChunkOf({pieces[0]}), rest});
  const auto all = ReadAll(Whole("bytes"), file);
  Require(all.has_value() && all->size() == pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i)
    Require((*all)[i] == std::vector<std::string>{pieces[i]});
  ReadAll(GuessFields(spans).fields, file);
  // Then the pieces are the list of chunks, and the postscript that tells where
  // the list lies.
  for (const bool has_postscript : {false, true}) {
    FileWriter writer;
    writer.Add(ChunkOf({"abc", "d"}));
    writer.Add(ChunkOf({"ef"}));
    ReadAll(Whole("uint8[n]"),
            writer.EndWith(pieces, has_postscript ? std::optional(pieces.back())
                                                  : std::nullopt));
  }
  return 0;
}

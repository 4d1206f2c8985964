// Fuzzes the parser of TFRecord files. The parser ends for any bytes, and
// requests only bytes of the file. It finds the same records however many bytes
// it reads at a time. The fields of a record are guessed and read, and values
// lie within the record. Frames of the input are corrected first, since no
// mutation finds their checksums.

#include <cstdint>
#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/tfrecord/field_guess.h"
#include "server/dataset/tfrecord/tfrecord_format.h"
#include "tests/fuzz/require.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/tfrecord/example_builder.h"

namespace {

using forebay::base::WorkingMemory;
using forebay::dataset::ComputedBytes;
using forebay::dataset::FieldRange;
using forebay::dataset::FieldValue;
using forebay::dataset::ReadSizes;
using forebay::dataset::ValueBuffers;
using forebay::dataset::records::FileRecords;
using forebay::dataset::tfrecord::FieldGuess;
using forebay::dataset::tfrecord::Frame;
using forebay::dataset::tfrecord::GuessFields;
using forebay::dataset::tfrecord::RecordFields;
using forebay::dataset::tfrecord::TfrecordFormat;
using forebay::fuzz::Require;
using forebay::fuzz::Touch;
using Bytes = absl::Span<const std::uint8_t>;

struct Result {
  std::string error;
  FileRecords records;
};

Result Parse(const TfrecordFormat& format, Bytes file, const ReadSizes& sizes) {
  WorkingMemory memory(forebay::base::AmpleBudget(), "records");
  const auto made =
      format.Parse({"a", {.size = file.size(), .stamp = 1}}, sizes, &memory);
  if (!made.ok()) return {made.status().ToString(), {}};
  const auto& parser = *made;
  while (const auto read = parser->next_read()) {
    Require(read->length > 0 && read->offset <= file.size() &&
            read->length <= file.size() - read->offset);
    const absl::Status status =
        parser->Take(file.subspan(read->offset, read->length));
    if (!status.ok()) return {status.ToString(), {}};
  }
  return {"", parser->TakeRecords()};
}

FileRecords ParseTwice(const TfrecordFormat& format, Bytes file) {
  const Result little = Parse(format, file, {.min = 12, .max = 12});
  const Result much = Parse(format, file, {});
  Require(little.error == much.error &&
          little.records.ends == much.records.ends &&
          little.records.bounds == much.records.bounds);
  std::uint64_t end = 0;
  for (const std::uint64_t next : much.records.ends) {
    Require(next > end && next <= file.size());
    end = next;
  }
  return much.records;
}

void ReadRecord(const TfrecordFormat& format, std::size_t fields,
                Bytes record) {
  std::vector<FieldValue> values(fields);
  ValueBuffers buffers;
  if (!format.ReadValues(record, absl::MakeSpan(values), &buffers).ok()) return;
  for (const FieldValue& value : values) {
    if (const auto* const range = std::get_if<FieldRange>(&value)) {
      Require(range->offset <= record.size() &&
              range->length <= record.size() - range->offset);
    } else if (const auto* const bytes = std::get_if<ComputedBytes>(&value)) {
      Touch(bytes->bytes.data(), bytes->bytes.size());
    }
  }
}

void ReadAll(const RecordFields& fields, Bytes file) {
  const TfrecordFormat format(fields);
  std::uint64_t begin = 0;
  for (const std::uint64_t end : ParseTwice(format, file).ends) {
    ReadRecord(format, fields.fields().size(),
               file.subspan(begin, end - begin));
    begin = end;
  }
}

}  // namespace

// The input is payloads, each after one byte with its length in bytes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto bytes_only = RecordFields::OfPayload("bytes");
  Require(bytes_only.ok());
  ReadAll(*bytes_only, {data, size});
  std::string file;
  std::vector<std::string> payloads;
  while (size > 0) {
    const std::size_t length = std::min<std::size_t>(data[0], size - 1);
    payloads.emplace_back(reinterpret_cast<const char*>(data + 1), length);
    file += Frame(payloads.back());
    data += length + 1;
    size -= length + 1;
  }
  std::vector<Bytes> spans;
  for (const std::string& payload : payloads)
    spans.push_back(forebay::dataset::tfrecord::AsBytes(payload));
  const FieldGuess guess = GuessFields(spans);
  const auto again = RecordFields::Parse(guess.fields.text());
  Require(again.ok() && again->fields() == guess.fields.fields());
  ReadAll(guess.fields, forebay::dataset::tfrecord::AsBytes(file));
  return 0;
}

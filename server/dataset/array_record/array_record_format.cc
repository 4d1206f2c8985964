// A record's extent is its chunk. The record's place in the chunk is the number
// of earlier records with the same extent. To read a record, the chunk is
// decompressed as a whole, and the records before the wanted one are skipped.
// If the chunk has several records, ChunkRecordCache may have their
// decompressed bytes already, or may keep these bytes now.
//
// Where possible, values point into the chunk as it was read, so that nothing
// is copied. All other values point into memory that ValueBuffers keeps.
#include "server/dataset/array_record/array_record_format.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/array_record/array_record_parser.h"
#include "server/dataset/array_record/chunk.h"
#include "server/dataset/records/whole_value.h"

namespace forebay::dataset::array_record {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

// The start of text(). The text of the fields follows.
constexpr std::string_view kName = "array_record ";

// Turns a value of `record` into a value of the sample, whose bytes are
// `chunk`. A range of a record that lies in the chunk becomes a range of the
// chunk. A range of any other record becomes ComputedBytes, which `buffers`
// keeps.
FieldValue InChunk(const FieldValue& value, Bytes record, Bytes chunk) {
  const auto* const range = std::get_if<FieldRange>(&value);
  if (range == nullptr) return value;
  const Bytes bytes = record.subspan(range->offset, range->length);
  const bool is_there =
      bytes.data() >= chunk.data() &&
      bytes.data() + bytes.size() <= chunk.data() + chunk.size();
  if (!is_there) return ComputedBytes{bytes};
  return FieldRange{static_cast<std::uint64_t>(bytes.data() - chunk.data()),
                    bytes.size()};
}

}  // namespace

ArrayRecordFormat::ArrayRecordFormat(tfrecord::RecordFields fields,
                                     base::MemoryBudget* budget)
    : fields_(std::move(fields)),
      text_(absl::StrCat(std::string(kName), fields_.text())),
      chunks_(budget) {}

absl::StatusOr<std::shared_ptr<const records::RecordFormat>>
ArrayRecordFormat::Parse(std::string_view text, base::MemoryBudget* budget) {
  if (!text.starts_with(kName))
    return absl::DataLossError("is of records that are not ArrayRecords");
  FOREBAY_ASSIGN_OR_RETURN(
      tfrecord::RecordFields fields,
      tfrecord::RecordFields::Parse(text.substr(kName.size())));
  return std::make_shared<const ArrayRecordFormat>(std::move(fields), budget);
}

absl::StatusOr<std::unique_ptr<records::RecordParser>> ArrayRecordFormat::Parse(
    const storage::ListedObject& file, const ReadSizes& read_sizes,
    base::WorkingMemory* memory) const {
  return ArrayRecordParser::Create(file.name, file.version.size, read_sizes,
                                   &fields_, memory);
}

std::vector<Field> ArrayRecordFormat::FieldsOf(
    const records::RecordIndex& index) const {
  std::vector<Field> fields;
  for (std::size_t i = 0; i < fields_.fields().size(); ++i) {
    const tfrecord::TfrecordField& field = fields_.fields()[i];
    // An index without records has no bounds.
    std::uint64_t longest =
        i < index.bounds().size() ? index.bounds()[i].longest : 0;
    if (field.type.kind == proto::FieldKind::kLabel && !fields_.is_payload())
      longest = sizeof(std::int64_t);
    fields.push_back(records::FieldOf(field.name, field.type, longest));
  }
  return fields;
}

absl::StatusOr<Bytes> ArrayRecordFormat::FindPayload(
    const records::RecordIndex& index, std::uint64_t number, Bytes chunk,
    ValueBuffers* buffers) const {
  // The parser's extents ascend, but a saved index may be damaged.
  if (!index.extents_ascend()) {
    return absl::DataLossError(
        "the saved index of its dataset is damaged: remove the files in the "
        "daemon's index directory, and restart the daemon");
  }
  const std::uint64_t place = index.PlaceOf(number);
  const auto lacks = [](std::uint64_t records) {
    return absl::DataLossError(
        absl::StrCat("its chunk has only ", records, " records"));
  };
  // Only a chunk that other records share is worth keeping.
  const bool has_others =
      place > 0 || (number + 1 < index.size() && index.PlaceOf(number + 1) > 0);
  Version digest = {};
  if (has_others) {
    digest = ChunkRecordCache::DigestOf(chunk);
    if (const auto kept = chunks_.Find(digest); kept.has_value()) {
      if (place >= kept->size()) return lacks(kept->size());
      const Bytes payload = kept->At(place);
      // The chunk may be evicted at any time, so `buffers` gets a copy of the
      // record.
      if (payload.empty()) return Bytes();
      FOREBAY_ASSIGN_OR_RETURN(const auto copy,
                               buffers->AddDecompressed(payload.size()));
      std::copy(payload.begin(), payload.end(), copy.begin());
      return copy;
    }
  }
  // The last item of bounds() has the most decompressed bytes of a chunk. If a
  // chunk has changed since the scan, this limits the memory that decompressing
  // it may take.
  const std::uint64_t most =
      index.bounds().empty() ? 0 : index.bounds().back().longest;
  FOREBAY_ASSIGN_OR_RETURN(
      Chunk records, Chunk::Read(index.ExtentOf(number).offset, chunk, most,
                                 [buffers](std::uint64_t bytes) {
                                   return buffers->AddDecompressed(bytes);
                                 }));
  if (place >= records.left()) return lacks(records.left());
  if (has_others) chunks_.Add(digest, records);
  records.Skip(place);
  return records.Next();
}

absl::Status ArrayRecordFormat::ReadValuesOf(const records::RecordIndex& index,
                                             std::uint64_t number, Bytes record,
                                             absl::Span<FieldValue> values,
                                             ValueBuffers* buffers) const {
  FOREBAY_ASSIGN_OR_RETURN(const Bytes payload,
                           FindPayload(index, number, record, buffers));
  if (payload.size() > index.BytesOf(number)) {
    return absl::DataLossError(absl::StrCat("has ", payload.size(),
                                            " bytes, but when it was indexed ",
                                            index.BytesOf(number)));
  }
  FOREBAY_RETURN_IF_ERROR(fields_.Read(payload, payload, values, buffers));
  for (FieldValue& value : values) value = InChunk(value, payload, record);
  return absl::OkStatus();
}

}  // namespace forebay::dataset::array_record

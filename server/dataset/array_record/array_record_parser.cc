// The footer lists all chunks with their numbers of records and bytes. So a
// file whose values have fixed lengths needs no other read. A chunk is read and
// decompressed only to measure values whose lengths vary. Chunks to measure
// that lie close together share a read of up to most_read_ bytes.
//
// For a chunk that is not measured, the bounds of lengths are 0 and the bytes
// of all its records. The lengths of all its values are within these bounds.
#include "server/dataset/array_record/array_record_parser.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/array_record/chunk.h"

namespace forebay::dataset::array_record {
namespace {

using proto::FieldKind;

// Whether the field's values vary in length. If so, batches reserve room for
// the longest value.
bool Varies(const tfrecord::TfrecordField& field) {
  const FieldKind kind = field.type.kind;
  return kind != FieldKind::kImage && kind != FieldKind::kLabel &&
         !field.type.array.has_value();
}

bool HasVarying(const tfrecord::RecordFields& fields) {
  return std::any_of(fields.fields().begin(), fields.fields().end(), Varies);
}

// Room for the decompressed records of one chunk. `memory` counts its bytes.
class Room {
 public:
  explicit Room(base::WorkingMemory* memory) : memory_(memory) {}
  ~Room() {
    bytes_.reset();
    memory_->Shrink(counted_);
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  absl::StatusOr<absl::Span<std::uint8_t>> Add(std::uint64_t bytes) {
    FOREBAY_RETURN_IF_ERROR(memory_->Grow(bytes));
    counted_ += bytes;
    bytes_ = std::make_unique_for_overwrite<std::uint8_t[]>(bytes);
    return absl::MakeSpan(bytes_.get(), bytes);
  }

 private:
  base::WorkingMemory* const memory_;
  std::unique_ptr<std::uint8_t[]> bytes_;
  std::uint64_t counted_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<records::RecordParser>>
ArrayRecordParser::Create(std::string name, std::uint64_t size,
                          const ReadSizes& read_sizes,
                          const tfrecord::RecordFields* fields,
                          base::WorkingMemory* memory) {
  auto finder = FooterFinder::Create(size, read_sizes.min, memory);
  if (!finder.ok()) return base::Annotate(finder.status(), name);
  return std::unique_ptr<records::RecordParser>(new ArrayRecordParser(
      std::move(name), *std::move(finder), read_sizes.max, fields, memory));
}

ArrayRecordParser::ArrayRecordParser(std::string name, FooterFinder finder,
                                     std::uint64_t most_read,
                                     const tfrecord::RecordFields* fields,
                                     base::WorkingMemory* memory)
    : name_(std::move(name)),
      finder_(std::move(finder)),
      most_read_(most_read),
      fields_(fields),
      memory_(memory),
      has_varying_(HasVarying(*fields)) {}

std::optional<ByteRange> ArrayRecordParser::next_read() const {
  if (const auto wanted = finder_.wanted(); wanted.has_value()) return wanted;
  if (measured_.empty()) return std::nullopt;
  const std::uint64_t begin = measured_.front().first.begin;
  return ByteRange{begin, measured_.back().first.end - begin};
}

absl::Status ArrayRecordParser::Take(absl::Span<const std::uint8_t> bytes) {
  absl::Status seen = Parse(bytes);
  return absl::IsResourceExhausted(seen) ? seen : base::Annotate(seen, name_);
}

absl::Status ArrayRecordParser::Parse(absl::Span<const std::uint8_t> bytes) {
  if (const auto wanted = finder_.wanted(); wanted.has_value()) {
    FOREBAY_RETURN_IF_ERROR(finder_.Parse(bytes));
    if (!finder_.footer().has_value()) return absl::OkStatus();
    FOREBAY_ASSIGN_OR_RETURN(next_, finder_.footer()->Next());
    return Proceed();
  }
  const auto read = next_read();
  FOREBAY_CHECK(read.has_value() && bytes.size() == read->length);
  for (const auto& [chunk, first] : measured_) {
    const absl::Status measured = Measure(
        chunk, first,
        bytes.subspan(chunk.begin - read->offset, chunk.end - chunk.begin));
    // A damaged chunk does not fail the scan. The error comes when one of its
    // records is read.
    if (!measured.ok() && !absl::IsDataLoss(measured))
      return absl::IsResourceExhausted(measured)
                 ? measured
                 : base::Annotate(measured,
                                  absl::StrCat("at byte ", chunk.begin));
  }
  return Proceed();
}

bool ArrayRecordParser::IsMeasured(const ListedChunk& chunk) const {
  return fields_->has_rows() || (has_varying_ && chunk.records > 1);
}

absl::Status ArrayRecordParser::Proceed() {
  measured_.clear();
  while (next_.has_value()) {
    if (IsMeasured(*next_)) {
      // With this chunk, the read would become too long. The next call begins
      // with this chunk.
      if (!measured_.empty() &&
          next_->end - measured_.front().first.begin > most_read_)
        return absl::OkStatus();
      measured_.emplace_back(*next_, records_.ends.size());
    }
    FOREBAY_RETURN_IF_ERROR(Add(*next_));
    FOREBAY_ASSIGN_OR_RETURN(next_, finder_.footer()->Next());
  }
  finder_.footer().reset();
  return absl::OkStatus();
}

absl::Status ArrayRecordParser::Add(const ListedChunk& chunk) {
  FOREBAY_RETURN_IF_ERROR(memory_->MakeRoom(records_.begins, chunk.records));
  FOREBAY_RETURN_IF_ERROR(memory_->MakeRoom(records_.ends, chunk.records));
  FOREBAY_RETURN_IF_ERROR(
      memory_->MakeRoom(records_.decompressed, chunk.records));
  // Every record has the extent of its chunk. The decompressed length of a
  // record is at first that of all records of the chunk together. Measure
  // replaces it by the record's own.
  records_.begins.insert(records_.begins.end(), chunk.records, chunk.begin);
  records_.ends.insert(records_.ends.end(), chunk.records, chunk.end);
  records_.decompressed.insert(records_.decompressed.end(), chunk.records,
                               chunk.decoded_bytes);
  const std::size_t fields = fields_->fields().size();
  records_.bounds.resize(fields + 1);
  records_.bounds[fields].Add({chunk.decoded_bytes, chunk.decoded_bytes});
  if (!IsMeasured(chunk)) {
    for (std::size_t i = 0; i < fields; ++i)
      records_.bounds[i].Add({0, chunk.decoded_bytes});
  }
  if (chunk.decoded_bytes <= largest_) return absl::OkStatus();
  // Each read of a record decompresses all of its chunk. The scan fails here,
  // early, if the memory has no room for the largest one.
  largest_ = chunk.decoded_bytes;
  FOREBAY_RETURN_IF_ERROR(memory_->Grow(largest_));
  memory_->Shrink(largest_);
  return absl::OkStatus();
}

// Sets the decompressed length of each record to its own length, and adds the
// bounds of the fields' values.
absl::Status ArrayRecordParser::Measure(const ListedChunk& chunk,
                                        std::size_t first,
                                        absl::Span<const std::uint8_t> bytes) {
  Room room(memory_);
  FOREBAY_ASSIGN_OR_RETURN(
      Chunk records,
      Chunk::Read(chunk.begin, bytes, chunk.decoded_bytes,
                  [&](std::uint64_t wanted) { return room.Add(wanted); }));
  std::vector<records::LengthBounds> bounds;
  for (std::uint64_t i = 0; i < chunk.records && records.left() > 0; ++i) {
    const absl::Span<const std::uint8_t> record = records.Next();
    records_.decompressed[first + i] = record.size();
    fields_->Measure(record, &bounds);
  }
  for (std::size_t i = 0; i < bounds.size(); ++i)
    records_.bounds[i].Add(bounds[i]);
  return absl::OkStatus();
}

}  // namespace forebay::dataset::array_record

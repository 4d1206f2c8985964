#include "server/dataset/hdf5/hdf5_format.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/hdf5/filters.h"
#include "server/dataset/hdf5/hdf5_parser.h"
#include "server/dataset/hdf5/row_reader.h"
#include "server/dataset/hdf5/row_value.h"
#include "server/dataset/records/whole_value.h"

namespace forebay::dataset::hdf5 {
namespace {

constexpr std::uint64_t kKeptChunks = std::uint64_t{64} << 20;  // bytes

Bytes AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Bytes that a value has of a row that was not written.
std::uint64_t FilledBytes(const Column& column) {
  return column.has_any_length() ? 0 : column.value_bytes();
}

std::uint64_t LongestFilled(const std::vector<Column>& columns) {
  std::uint64_t longest = 0;
  for (const Column& column : columns) {
    if (!column.is_kept) longest = std::max(longest, FilledBytes(column));
  }
  return longest;
}

// Bytes of a row, so that what follows it is aligned.
std::uint64_t RoomOfRow(std::uint64_t bytes) {
  constexpr std::uint64_t kAlignment = 64;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Bytes to undo the filters of one of the chunks in.
std::uint64_t RoomOfChunks(const RowPlace& place) {
  std::uint64_t most = 0;
  for (const PlacedChunk& chunk : place.chunks) {
    if (chunk.mask == UINT32_MAX) continue;
    most = std::max(
        most, RoomToUnfilter(place.filters, chunk.mask, place.chunk_bytes));
  }
  return most;
}

}  // namespace

Hdf5Format::Hdf5Format(std::vector<Column> columns, base::MemoryBudget* budget)
    : columns_(std::move(columns)),
      text_(TextOf(columns_)),
      chunks_(budget, kKeptChunks) {
  for (const Column& column : columns_) {
    if (!column.is_kept && !column.has_any_length())
      row_bytes_ = column.row_bytes;
  }
}

absl::StatusOr<std::shared_ptr<const Hdf5Format>> Hdf5Format::Parse(
    std::string_view text, base::MemoryBudget* budget) {
  FOREBAY_ASSIGN_OR_RETURN(std::vector<Column> columns, ParseColumns(text));
  return std::make_shared<const Hdf5Format>(std::move(columns), budget);
}

absl::StatusOr<std::unique_ptr<records::RecordParser>> Hdf5Format::Parse(
    const storage::ListedObject& file, const ReadSizes& read_sizes,
    base::WorkingMemory* memory) const {
  return Hdf5Parser::Create(file, read_sizes, &columns_, memory);
}

std::vector<Field> Hdf5Format::FieldsOf(
    const records::RecordIndex& index) const {
  std::vector<Field> fields;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    records::LengthBounds bounds;
    if (i < index.bounds().size()) bounds = index.bounds()[i];
    const Column& column = columns_[i];
    fields.push_back(
        records::FieldOf(column.name(), column.value, bounds.longest));
    fields.back().shortest = std::min(bounds.shortest, bounds.longest);
  }
  return fields;
}

absl::Status Hdf5Format::ReadValuesOf(const records::RecordIndex& index,
                                      std::uint64_t number,
                                      absl::Span<const std::uint8_t> record,
                                      absl::Span<FieldValue> values,
                                      MadeValues* made) const {
  const std::string key =
      index.has_keys() ? index.KeyOf(number) : std::string();
  return ReadKeyedValues(key, record, values, made);
}

absl::Status Hdf5Format::ReadKeyedValues(std::string_view key,
                                         absl::Span<const std::uint8_t> record,
                                         absl::Span<FieldValue> values,
                                         MadeValues* made) const {
  FOREBAY_ASSIGN_OR_RETURN(const RowKey row_key, DecodeRowKey(key));
  FOREBAY_ASSIGN_OR_RETURN(const Bytes row,
                           FindRow(row_key.place, record, made));
  absl::Span<std::uint8_t> filled;  // has one value after the other
  if (row_key.place.kind == RowPlace::Kind::kFilled) {
    FOREBAY_ASSIGN_OR_RETURN(filled,
                             made->AddUnpacked(LongestFilled(columns_)));
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    Bytes bytes = row;
    if (column.is_kept) {
      if (kept == row_key.kept.size())
        return absl::DataLossError("is indexed without some of its values");
      bytes = AsBytes(row_key.kept[kept++]);
    } else if (row_key.place.kind == RowPlace::Kind::kFilled) {
      const auto value = filled.first(FilledBytes(column));
      FillValue(row_key.place.fill, column.offset, value);
      bytes = value;
    } else if (!column.has_any_length()) {
      const std::uint64_t length = column.value_bytes();
      if (column.offset > row.size() || length > row.size() - column.offset)
        return absl::DataLossError("is indexed as a shorter row");
      bytes = row.subspan(column.offset, length);
    }
    auto value =
        RowValue(column, bytes, column.is_kept ? Bytes() : record, made);
    if (!value.ok()) return base::Annotate(value.status(), column.name());
    values[i] = *std::move(value);
  }
  return absl::OkStatus();
}

// Returns the row's bytes, in the record or in the room to unpack it into, if
// any were written.
absl::StatusOr<Bytes> Hdf5Format::FindRow(const RowPlace& place, Bytes record,
                                          MadeValues* made) const {
  switch (place.kind) {
    case RowPlace::Kind::kDirect:
      return record;
    case RowPlace::Kind::kEmpty:
    case RowPlace::Kind::kFilled:
      return Bytes();
    case RowPlace::Kind::kParts:
      return JoinParts(place, record, made);
    case RowPlace::Kind::kChunk:
      break;
  }
  if (row_bytes_ == 0 || place.chunk_bytes > kLargestChunk ||
      place.row >= place.chunk_bytes / row_bytes_) {
    return absl::DataLossError("is indexed in a chunk that has no such row");
  }
  FOREBAY_ASSIGN_OR_RETURN(
      const PlainChunk chunk,
      chunks_.Get(
          place.filters, place.mask, record, place.chunk_bytes,
          [made](std::uint64_t bytes) { return made->AddUnpacked(bytes); }));
  const Bytes row = chunk.bytes.subspan(place.row * row_bytes_, row_bytes_);
  if (chunk.kept == nullptr) return row;
  FOREBAY_ASSIGN_OR_RETURN(const absl::Span<std::uint8_t> copy,
                           made->AddUnpacked(row_bytes_));
  std::copy(row.begin(), row.end(), copy.begin());
  return copy;
}

// Values of a fixed size are all as long as the longest.
bool Hdf5Format::LowerBytes(const records::RecordIndex& index,
                            std::uint64_t number,
                            absl::Span<std::uint64_t> bytes) const {
  if (!index.has_keys()) return true;
  const std::string key = index.KeyOf(number);
  const auto row = DecodeRowKey(key);
  if (!row.ok()) return true;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    std::uint64_t length = 0;
    if (column.is_kept) {
      if (kept == row->kept.size()) return true;
      length = row->kept[kept++].size();
    } else if (row->place.kind == RowPlace::Kind::kDirect) {
      length = index.ExtentOf(number).length;
    }
    const bool is_known = column.is_kept ||
                          row->place.kind == RowPlace::Kind::kDirect ||
                          row->place.kind == RowPlace::Kind::kEmpty;
    if (column.has_any_length() && is_known)
      bytes[i] = std::min(bytes[i], length);
  }
  return true;
}

// Puts a row together of what chunks have of it.
absl::StatusOr<Bytes> Hdf5Format::JoinParts(const RowPlace& place, Bytes record,
                                            MadeValues* made) const {
  ArrayLayout array;  // of all rows of these chunks
  array.type.size = place.element_bytes;
  array.shape = place.shape;
  array.shape.insert(array.shape.begin(), place.chunk.front());
  array.chunk = place.chunk;
  const std::uint64_t row_bytes = array.row_bytes();
  if ((row_bytes_ > 0 && row_bytes != row_bytes_) ||
      place.row >= place.chunk.front() || place.chunk_bytes > kLargestChunk)
    return absl::DataLossError("is indexed as a row of another shape");
  // The row has the front of the room, and one chunk after the other the rest.
  const std::uint64_t front = RoomOfRow(row_bytes);
  FOREBAY_ASSIGN_OR_RETURN(const absl::Span<std::uint8_t> room,
                           made->AddUnpacked(front + RoomOfChunks(place)));
  const absl::Span<std::uint8_t> row = room.first(row_bytes);
  FillValue(place.fill, 0, row);
  for (const PlacedChunk& chunk : place.chunks) {
    if (chunk.number >= array.chunks_of_row() || chunk.offset > record.size() ||
        chunk.bytes > record.size() - chunk.offset) {
      return absl::DataLossError("is indexed in chunks that are not there");
    }
    PlainChunk plain{record.subspan(chunk.offset, chunk.bytes), nullptr};
    if (chunk.mask != UINT32_MAX) {
      FOREBAY_ASSIGN_OR_RETURN(
          plain, chunks_.Get(place.filters, chunk.mask, plain.bytes,
                             place.chunk_bytes, [&](std::uint64_t bytes) {
                               return room.subspan(front, bytes);
                             }));
    }
    if (plain.bytes.size() != place.chunk_bytes)
      return absl::DataLossError("is indexed in chunks of another size");
    CopyChunk(array, chunk.number, plain.bytes, place.row, row);
  }
  return row;
}

std::string Hdf5Format::NameOf(const records::RecordIndex& index,
                               std::uint64_t record) const {
  return absl::StrCat("row ", index.ExtentOf(record).record);
}

}  // namespace forebay::dataset::hdf5

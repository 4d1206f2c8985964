#include "server/dataset/hdf5/hdf5_format.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/hdf5/hdf5_parser.h"
#include "server/dataset/hdf5/hdf5_row_reader.h"
#include "server/dataset/hdf5/row_value.h"
#include "server/dataset/hdf5/stored_row.h"
#include "server/dataset/records/whole_value.h"

namespace forebay::dataset::hdf5 {
namespace {

// The most bytes of chunks without filters that each format caches.
constexpr std::uint64_t kCachedChunkBytes = std::uint64_t{64} << 20;  // bytes
// In `place_of_`, marks a column whose values are in the key.
constexpr std::size_t kInIndex = SIZE_MAX;

Bytes AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Returns the bytes of a value in a row that was not written; 0 if lengths
// vary.
std::uint64_t FilledBytes(const Hdf5Column& column) {
  return column.has_any_length() ? 0 : column.value_bytes();
}

// Returns the length in bytes of the longest value that is made of a fill
// value.
std::uint64_t LongestFilled(const std::vector<Hdf5Column>& columns) {
  std::uint64_t longest = 0;
  for (const Hdf5Column& column : columns) {
    if (!column.is_kept) longest = std::max(longest, FilledBytes(column));
  }
  return longest;
}

// The output buffer of one sample. All values of the sample use this one
// buffer, one after the other, because ValueBuffers::AddDecompressed may be
// called only once for a sample.
class SharedRoom {
 public:
  // The first call of Give makes the buffer. Its size is `most`, or the size
  // that the call asks for, if that is larger.
  SharedRoom(ValueBuffers* buffers, std::uint64_t most)
      : buffers_(*buffers), most_(most) {}

  absl::StatusOr<absl::Span<std::uint8_t>> Give(std::uint64_t bytes) {
    if (room_.size() < bytes) {
      FOREBAY_ASSIGN_OR_RETURN(
          room_, buffers_.AddDecompressed(std::max(most_, bytes)));
    }
    return room_.first(bytes);
  }

 private:
  ValueBuffers& buffers_;
  const std::uint64_t most_;
  absl::Span<std::uint8_t> room_;
};

// A row of one dataset, and the place where it was found.
struct RowPart {
  const RowPlace& place;
  // The row's bytes; none if the row was not written.
  Bytes row;
  // All bytes that were read for the sample.
  Bytes record;
};

// Returns the value of a column in a row. A row that was not written gets the
// fill value.
absl::StatusOr<FieldValue> ReadColumn(const Hdf5Column& column,
                                      const RowPart& part,
                                      DecompressionRoom room,
                                      ValueBuffers* buffers) {
  Bytes bytes = part.row;
  if (part.place.kind == RowPlace::Kind::kFilled) {
    FOREBAY_ASSIGN_OR_RETURN(const absl::Span<std::uint8_t> filled,
                             room(FilledBytes(column)));
    FillValue(part.place.fill, column.offset, filled);
    bytes = filled;
  } else if (!column.has_any_length()) {
    const std::uint64_t length = column.value_bytes();
    if (column.offset > bytes.size() || length > bytes.size() - column.offset)
      return absl::DataLossError("is indexed as a shorter row");
    bytes = bytes.subspan(column.offset, length);
  }
  return RowValue(column, bytes, part.record, buffers);
}

}  // namespace

Hdf5Format::Hdf5Format(std::vector<Hdf5Column> columns,
                       base::MemoryBudget* budget)
    : columns_(std::move(columns)),
      text_(TextOf(columns_)),
      chunks_(budget, kCachedChunkBytes) {
  for (const Hdf5Column& column : columns_) {
    const auto known = std::find(paths_.begin(), paths_.end(), column.path);
    const auto place = static_cast<std::size_t>(known - paths_.begin());
    place_of_.push_back(column.is_kept ? kInIndex : place);
    if (column.is_kept) continue;
    if (known == paths_.end()) {
      paths_.push_back(column.path);
      row_bytes_.push_back(0);
    }
    if (!column.has_any_length()) row_bytes_[place] = column.row_bytes;
  }
  // A record needs a place even if the index stores all columns.
  if (row_bytes_.empty()) row_bytes_.push_back(0);
}

absl::StatusOr<std::shared_ptr<const Hdf5Format>> Hdf5Format::Parse(
    std::string_view text, base::MemoryBudget* budget) {
  FOREBAY_ASSIGN_OR_RETURN(std::vector<Hdf5Column> columns, ParseColumns(text));
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
    const Hdf5Column& column = columns_[i];
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
                                      ValueBuffers* buffers) const {
  const std::string key =
      index.has_keys() ? index.KeyOf(number) : std::string();
  return ReadKeyedValues(key, record, values, buffers);
}

absl::Status Hdf5Format::ReadKeyedValues(std::string_view key,
                                         absl::Span<const std::uint8_t> record,
                                         absl::Span<FieldValue> values,
                                         ValueBuffers* buffers) const {
  FOREBAY_ASSIGN_OR_RETURN(const RowKey row_key, DecodeRowKey(key));
  const bool is_gathered = !row_key.pieces.empty();
  if (row_key.places.size() != row_bytes_.size())
    return absl::DataLossError("is indexed as a row of other datasets");
  FOREBAY_RETURN_IF_ERROR(ReadIndexedValues(row_key, values, buffers));
  // With several datasets, `most` is the largest size that any of them needs,
  // because the buffer is made only once. With one dataset, `most` is 0: the
  // buffer gets the size that the only call of `room` asks for. This size is
  // small if the cache has the chunk.
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < row_bytes_.size() && row_bytes_.size() > 1; ++i) {
    const RowPlace& place = row_key.places[i];
    most = std::max(most, place.kind == RowPlace::Kind::kFilled
                              ? LongestFilled(columns_)
                              : MostRoomOf(place, row_bytes_[i]));
  }
  SharedRoom shared(buffers, most);
  const auto room = [&shared](std::uint64_t bytes) {
    return shared.Give(bytes);
  };
  // A gathered record has the datasets' parts one after the other.
  Bytes rest = record;
  for (std::size_t i = 0; i < row_bytes_.size(); ++i) {
    const RowPlace& place = row_key.places[i];
    if (is_gathered && place.length > rest.size())
      return absl::DataLossError("is indexed as a longer row");
    const Bytes part = is_gathered ? rest.first(place.length) : rest;
    rest.remove_prefix(part.size());
    const auto row = FindRow(place, row_bytes_[i], part, chunks_, room);
    // The error names the dataset if there are several.
    if (!row.ok() && row_bytes_.size() == 1) return row.status();
    if (!row.ok()) return base::Annotate(row.status(), paths_[i]);
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      if (place_of_[k] != i) continue;
      const RowPart row_part{place, *row, record};
      auto value = ReadColumn(columns_[k], row_part, room, buffers);
      if (!value.ok())
        return base::Annotate(value.status(), columns_[k].name());
      values[k] = *std::move(value);
    }
  }
  return absl::OkStatus();
}

absl::Status Hdf5Format::ReadIndexedValues(const RowKey& row,
                                           absl::Span<FieldValue> values,
                                           ValueBuffers* buffers) const {
  std::size_t next_indexed = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (!columns_[i].is_kept) continue;
    if (next_indexed == row.indexed_values.size())
      return absl::DataLossError("is indexed without some of its values");
    auto value = RowValue(
        columns_[i], AsBytes(row.indexed_values[next_indexed++]), {}, buffers);
    if (!value.ok()) return base::Annotate(value.status(), columns_[i].name());
    values[i] = *std::move(value);
  }
  return absl::OkStatus();
}

// Lowers the bounds of values whose length the index knows. The bounds of
// values of a fixed size are exact, and stay as they are. The result is always
// true: the length of the extent says nothing about values.
bool Hdf5Format::LowerBytes(const records::RecordIndex& index,
                            std::uint64_t number,
                            absl::Span<std::uint64_t> bytes) const {
  if (!index.has_keys()) return true;
  const std::string key = index.KeyOf(number);
  const auto row = DecodeRowKey(key);
  if (!row.ok()) return true;
  if (row->places.size() != row_bytes_.size()) return true;
  const bool is_gathered = !row->pieces.empty();
  std::size_t next_indexed = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Hdf5Column& column = columns_[i];
    const RowPlace& place = row->places[column.is_kept ? 0 : place_of_[i]];
    std::uint64_t length = 0;
    if (column.is_kept) {
      if (next_indexed == row->indexed_values.size()) return true;
      length = row->indexed_values[next_indexed++].size();
    } else if (place.kind == RowPlace::Kind::kDirect) {
      length = is_gathered ? place.length : index.ExtentOf(number).length;
    }
    const bool is_known = column.is_kept ||
                          place.kind == RowPlace::Kind::kDirect ||
                          place.kind == RowPlace::Kind::kEmpty;
    if (column.has_any_length() && is_known)
      bytes[i] = std::min(bytes[i], length);
  }
  return true;
}

absl::StatusOr<std::vector<storage::gathered::Piece>> Hdf5Format::PiecesOf(
    std::string_view key) const {
  FOREBAY_ASSIGN_OR_RETURN(RowKey row, DecodeRowKey(key));
  return std::move(row.pieces);
}

std::string Hdf5Format::NameOf(const records::RecordIndex& index,
                               std::uint64_t record) const {
  return absl::StrCat("row ", index.ExtentOf(record).record);
}

}  // namespace forebay::dataset::hdf5

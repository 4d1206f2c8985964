#include "server/dataset/hdf5/hdf5_parser.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/raw_image.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/hdf5/path_pattern.h"
#include "server/dataset/hdf5/row_extent.h"
#include "server/dataset/hdf5/tree.h"

// For each source, the parser walks the index of chunks, then reads rows, then
// follows references, as far as the columns need it. After the last source,
// Emit adds a record for each row: an extent of the file, and a key
// (row_key.h).
//
// Rows whose bytes lie together have an extent within the file. Other rows are
// gathered: their extents follow the file's end, one after the other, and the
// key lists the pieces. Neighbouring rows in the same chunks share a gathered
// extent.

namespace forebay::dataset::hdf5 {
namespace {

using Kind = ArrayLayout::Kind;

// Returns the length of a field's value that is made of `bytes` bytes of a
// column. Pixels get the header of a raw image.
std::uint64_t ValueBytesOf(const Hdf5Column& column, std::uint64_t bytes) {
  const bool has_pixels = column.type.kind == ElementType::Kind::kNumber &&
                          column.value.kind == proto::FieldKind::kImage;
  return has_pixels ? bytes + sizeof(proto::RawImageHeader) : bytes;
}

// Returns the bytes that a string has on the heap. The bytes of a short string
// lie inside the object, and were not counted.
std::uint64_t CountedBytes(const std::string& text) {
  return text.capacity() - std::string().capacity();
}

}  // namespace

Hdf5Parser::Hdf5Parser(storage::ListedObject file, const ReadSizes& read_sizes,
                       const std::vector<Hdf5Column>* columns,
                       base::WorkingMemory* memory)
    : object_(std::move(file.name)),
      view_(file.version.size, read_sizes, memory),
      columns_(*columns),
      memory_(memory) {
  FOREBAY_CHECK(!columns_.empty());
}

absl::StatusOr<std::unique_ptr<Hdf5Parser>> Hdf5Parser::Create(
    storage::ListedObject file, const ReadSizes& read_sizes,
    const std::vector<Hdf5Column>* columns, base::WorkingMemory* memory) {
  std::unique_ptr<Hdf5Parser> parser(
      new Hdf5Parser(std::move(file), read_sizes, columns, memory));
  // This call runs until the first read is known, which next_read() returns.
  FOREBAY_RETURN_IF_ERROR(parser->Proceed());
  return parser;
}

absl::Status Hdf5Parser::Take(absl::Span<const std::uint8_t> bytes) {
  FOREBAY_RETURN_IF_ERROR(view_.Take(bytes));
  return Proceed();
}

// Adds the file's name to all errors but RESOURCE_EXHAUSTED.
absl::Status Hdf5Parser::Proceed() {
  while (part_ != Part::kEnd) {
    absl::Status status = Step();
    if (absl::IsUnavailable(status) && view_.wanted().has_value())
      return absl::OkStatus();
    if (absl::IsResourceExhausted(status)) return status;
    if (!status.ok()) return base::Annotate(status, object_);
    // When bytes were missing, List and Open start over, and need the earlier
    // bytes again.
    if (part_ != Part::kList && part_ != Part::kOpen) view_.ForgetIfMany();
  }
  return absl::OkStatus();
}

absl::Status Hdf5Parser::Step() {
  if (part_ == Part::kList) return List();
  if (part_ == Part::kOpen) return Open();
  if (source_ == sources_.size()) return Emit();
  Source& source = sources_[source_];
  absl::Status status;
  switch (part_) {
    case Part::kChunks:
      status = StepChunks(source);
      break;
    case Part::kRows:
      status = StepRows(source);
      break;
    default:
      status = StepValues(source);
  }
  if (absl::IsUnavailable(status) || absl::IsResourceExhausted(status))
    return status;
  return base::Annotate(status, source.shown);
}

// When bytes were missing, the next call starts over.
absl::Status Hdf5Parser::List() {
  records_.bounds.resize(columns_.size());
  const auto pattern = SplitPattern(columns_.front().path);
  if (pattern.has_value()) {
    group_ = pattern->group;
    FOREBAY_ASSIGN_OR_RETURN(objects_, ListGroup(view_, group_));
    view_.ForgetIfMany();
  }
  part_ = pattern.has_value() && objects_.entries.empty() ? Part::kEnd
                                                          : Part::kOpen;
  return absl::OkStatus();
}

// When bytes were missing, the next call drops the sources that this call
// found, and starts over.
absl::Status Hdf5Parser::Open() {
  sources_.clear();
  for (const Hdf5Column& column : columns_)
    FOREBAY_RETURN_IF_ERROR(AddSource(column));
  for (const Source& source : sources_) {
    if (source.array.rows() == rows()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(source.shown, ": has ", source.array.rows(), " rows, but ",
                     sources_.front().shown, " has ", rows()));
  }
  source_ = 0;
  return BeginPart(Part::kChunks);
}

absl::StatusOr<NamedArray> Hdf5Parser::FindSource(const std::string& path) {
  const auto pattern = SplitPattern(path);
  if (!pattern.has_value()) return FindArray(view_, path);
  const GroupEntry& entry = objects_.entries[entry_];
  FOREBAY_ASSIGN_OR_RETURN(
      NamedArray found,
      FindArrayIn(view_, entry.address,
                  absl::StrCat(group_, group_.empty() ? "" : "/", entry.name),
                  pattern->rest));
  found.array.MakeWhole();
  return found;
}

absl::Status Hdf5Parser::AddSource(const Hdf5Column& column) {
  auto known =
      std::find_if(sources_.begin(), sources_.end(),
                   [&](const Source& one) { return one.path == column.path; });
  if (known == sources_.end()) {
    FOREBAY_ASSIGN_OR_RETURN(NamedArray found, FindSource(column.path));
    Source source;
    source.path = column.path;
    source.shown = std::move(found.path);
    source.array = std::move(found.array);
    source.is_kept = column.is_kept;
    source.is_variable = column.is_variable();
    if (column.type.kind == ElementType::Kind::kSequence)
      source.element_bytes = proto::SizeOf(column.type.dtype);
    sources_.push_back(std::move(source));
    known = sources_.end() - 1;
  }
  FOREBAY_RETURN_IF_ERROR(
      base::Annotate(CheckColumn(column, known->array), known->shown));
  if (!column.is_variable() || column.member.empty()) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(
      column.name(), ": is a member of any length, which cannot be read"));
}

absl::Status Hdf5Parser::BeginPart(Part part) {
  part_ = part;
  if (source_ == sources_.size()) return absl::OkStatus();
  Source& source = sources_[source_];
  const bool needs_rows = source.is_kept || source.is_variable;
  switch (part) {
    case Part::kChunks:
      if (source.array.kind != Kind::kChunked) return BeginPart(Part::kRows);
      chunk_walk_.emplace(&source.array);
      return absl::OkStatus();
    case Part::kRows:
      if (!needs_rows) {
        FOREBAY_RETURN_IF_ERROR(CheckChunks(source));
        ++source_;
        return BeginPart(Part::kChunks);
      }
      row_reader_.emplace(&source.array, &source.chunks, source.array.rows());
      return row_reader_->Begin(view_);
    default:
      if (!source.is_variable) {
        ++source_;
        return BeginPart(Part::kChunks);
      }
      source.values.emplace(std::exchange(source.rows, {}),
                            source.element_bytes,
                            source.is_kept ? kMostIndexedBytes : 0);
      return source.values->Begin(view_);
  }
}

absl::Status Hdf5Parser::StepChunks(Source& source) {
  if (!chunk_walk_->done()) return chunk_walk_->Step(view_);
  FOREBAY_ASSIGN_OR_RETURN(source.chunks, chunk_walk_->Take());
  return BeginPart(Part::kRows);
}

absl::Status Hdf5Parser::StepRows(Source& source) {
  if (!row_reader_->done()) return row_reader_->Step(view_);
  source.rows = row_reader_->Take();
  return BeginPart(Part::kValues);
}

absl::Status Hdf5Parser::StepValues(Source& source) {
  if (!source.values->done()) return source.values->Step(view_);
  ++source_;
  return BeginPart(Part::kChunks);
}

absl::Status Hdf5Parser::CheckChunks(const Source& source) const {
  const ArrayLayout& array = source.array;
  if (array.kind == Kind::kCompact) {
    return absl::UnimplementedError("lies in its header, unlike the first one");
  }
  if (array.kind != Kind::kChunked) return absl::OkStatus();
  const bool is_joined = !array.filters.empty() || !array.has_whole_rows();
  if (is_joined && array.chunk_bytes() > kLargestChunk) {
    return absl::UnimplementedError(absl::StrCat(
        "has chunks of ", array.chunk_bytes(), " bytes; chunks of at most ",
        kLargestChunk, " can be decompressed"));
  }
  return absl::OkStatus();
}

const Hdf5Parser::Source& Hdf5Parser::SourceOf(const Hdf5Column& column) const {
  return *std::find_if(
      sources_.begin(), sources_.end(),
      [&](const Source& one) { return one.path == column.path; });
}

absl::Status Hdf5Parser::Emit() {
  view_.ForgetIfMany();
  // If the memory has no room for all rows, the call fails before it adds any.
  FOREBAY_RETURN_IF_ERROR(memory_->MakeRoom(records_.begins, rows()));
  FOREBAY_RETURN_IF_ERROR(memory_->MakeRoom(records_.ends, rows()));
  for (std::uint64_t row = 0; row < rows(); ++row)
    FOREBAY_RETURN_IF_ERROR(EmitRow(row));
  AddBounds();
  DropSources();
  const std::size_t objects = objects_.entries.size();
  const bool is_last = objects == 0 || ++entry_ == objects;
  part_ = is_last ? Part::kEnd : Part::kOpen;
  return absl::OkStatus();
}

void Hdf5Parser::AddBounds() {
  for (std::size_t i = 0; i < columns_.size() && rows() > 0; ++i) {
    const Hdf5Column& column = columns_[i];
    records::LengthBounds& bounds = records_.bounds[i];
    const Source& source = SourceOf(column);
    if (source.is_variable) {
      for (const ValuePlace& place : source.values->places())
        bounds.Add({place.length, place.length});
      continue;
    }
    const std::uint64_t length =
        column.has_any_length() ? source.array.row_bytes()
                                : ValueBytesOf(column, column.value_bytes());
    bounds.Add({length, length});
  }
}

void Hdf5Parser::DropSources() {
  for (const Source& source : sources_) {
    memory_->Shrink(source.chunks.capacity() * sizeof(StoredChunk) +
                    CountedBytes(source.rows));
    if (source.values.has_value()) memory_->Shrink(source.values->memory());
  }
  sources_.clear();
}

absl::Status Hdf5Parser::EmitRow(std::uint64_t row) {
  std::vector<const Source*> read;
  std::vector<RowPlace> places;
  std::vector<Pieces> pieces;  // the pieces of each place
  std::vector<std::string_view> indexed_values;
  for (const Hdf5Column& column : columns_) {
    const Source& source = SourceOf(column);
    if (column.is_kept) {
      indexed_values.push_back(IndexedValue(column, source, row));
      continue;
    }
    if (std::find(read.begin(), read.end(), &source) != read.end()) continue;
    read.push_back(&source);
    RowPlace& place = places.emplace_back();
    if (source.is_variable) {
      pieces.push_back(PlaceValue(source.values->places()[row], &place));
      continue;
    }
    auto found = PlaceRow(view_, source.array, source.chunks, row, &place);
    if (!found.ok()) return base::Annotate(found.status(), source.shown);
    pieces.push_back(*std::move(found));
  }
  if (places.empty()) {
    places.emplace_back().kind = RowPlace::Kind::kEmpty;
    pieces.emplace_back();
  }
  // Gathered extents come after all others. Therefore, once a row was gathered,
  // all later rows are gathered, too.
  if (places.size() == 1 && gathered_end_ == 0) {
    const auto extent = JoinPieces(pieces.front(), &places.front());
    if (extent.has_value())
      return AddRow(row, *extent, places, {}, indexed_values);
  }
  FOREBAY_ASSIGN_OR_RETURN(const ValuePlace extent, Gather(pieces, &places));
  return AddRow(row, extent, places, gathered_, indexed_values);
}

// A row with the same pieces as the row before shares that row's extent.
absl::StatusOr<ValuePlace> Hdf5Parser::Gather(const std::vector<Pieces>& pieces,
                                              std::vector<RowPlace>* places) {
  Pieces all;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (const storage::gathered::Piece& piece : pieces[i]) {
      (*places)[i].length += piece.length;
      const bool goes_on =
          !all.empty() && all.back().offset + all.back().length == piece.offset;
      if (goes_on) {
        all.back().length += piece.length;
      } else {
        all.push_back(piece);
      }
    }
    bytes += (*places)[i].length;
  }
  // Every record needs at least one byte.
  if (all.empty()) all.push_back({0, 1});
  bytes = std::max<std::uint64_t>(bytes, 1);
  if (!gathered_.empty() && all == gathered_)
    return ValuePlace{gathered_end_ - bytes, bytes};
  if (gathered_end_ == 0) gathered_end_ = view_.size();
  if (bytes > kMostBytes || gathered_end_ > kMostBytes) {
    return absl::UnimplementedError(
        "has more bytes in all of its rows together than can be counted");
  }
  gathered_ = std::move(all);
  gathered_end_ += bytes;
  return ValuePlace{gathered_end_ - bytes, bytes};
}

absl::Status Hdf5Parser::AddRow(
    std::uint64_t row, const ValuePlace& extent,
    const std::vector<RowPlace>& places, const Pieces& pieces,
    const std::vector<std::string_view>& indexed_values) {
  const std::string key = EncodeRowKey(places, pieces, indexed_values);
  if (key.size() > records::kLongestKey) {
    std::uint64_t smaller = 0;
    for (const std::string_view value : indexed_values) smaller += value.size();
    if (smaller < records::kLongestKey / 2) {
      return absl::UnimplementedError(
          absl::StrCat("row ", row, " lies in ", pieces.size(),
                       " pieces of the file, more than the index can tell "
                       "of; write it anew with one chunk for each row"));
    }
    return absl::UnimplementedError(
        absl::StrCat("row ", row, " has ", smaller,
                     " bytes in its smaller fields together, more than ",
                     records::kLongestKey));
  }
  FOREBAY_RETURN_IF_ERROR(keys_.Add(key, *memory_));
  records_.begins.push_back(extent.offset);
  records_.ends.push_back(extent.offset + extent.length);
  return absl::OkStatus();
}

std::string_view Hdf5Parser::IndexedValue(const Hdf5Column& column,
                                          const Source& source,
                                          std::uint64_t row) const {
  if (source.is_variable) {
    const ValuePlace& value = source.values->places()[row];
    return std::string_view(source.values->copies())
        .substr(value.offset, value.length);
  }
  if (column.has_any_length()) return source.rows;
  return std::string_view(source.rows)
      .substr(row * source.array.row_bytes() + column.offset,
              column.value_bytes());
}

records::FileRecords Hdf5Parser::TakeRecords() {
  records_.keys = keys_.Take();
  return std::move(records_);
}

}  // namespace forebay::dataset::hdf5

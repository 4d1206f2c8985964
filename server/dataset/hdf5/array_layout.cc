#include "server/dataset/hdf5/array_layout.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

// Reads the messages that describe a dataset (HDF5 File Format Specification
// v3.0): Dataspace (IV.A.2.b), both Fill Value messages (IV.A.2.e and f) and
// all versions of Data Layout (IV.A.2.i). Messages are untrusted: each function
// checks what it reads before the next one multiplies it, so that row_bytes()
// and chunk_bytes() cannot overflow.

namespace forebay::dataset::hdf5 {
namespace {

// Makes the DATA_LOSS error of a dataset whose `part` is damaged.
absl::Status Damaged(std::string_view part) {
  return absl::DataLossError(absl::StrCat("is damaged: its ", std::string(part),
                                          " contradicts itself"));
}

// Multiplies `*product` by `factor`. Returns false if the result would be more
// than kMostBytes.
bool Multiply(std::uint64_t factor, std::uint64_t* product) {
  if (factor != 0 && *product > kMostBytes / factor) return false;
  *product *= factor;
  return true;
}

// Reads a Dataspace message. Version 1 has five reserved bytes where version 2
// has the type. Type 0 is a scalar, 1 is an array, and 2 is "null", which has
// no elements.
absl::Status ReadShape(Bytes message, const Widths& widths,
                       ArrayLayout* array) {
  ByteCursor cursor(message, widths);
  const std::uint64_t version = cursor.Take(1);
  const std::uint64_t rank = cursor.Take(1);
  const std::uint64_t flags = cursor.Take(1);
  if (version == 1) cursor.Skip(5);
  const std::uint64_t kind = version == 2 ? cursor.Take(1) : 1;
  if (version < 1 || version > 2 || rank > kMostDimensions)
    return Damaged("shape");
  if (kind == 2)
    return absl::UnimplementedError("has no shape, so that it has no rows");
  std::uint64_t bytes = array->type.size;
  for (std::uint64_t i = 0; i < rank; ++i) {
    array->shape.push_back(cursor.TakeLength());
    // An extent of 0 counts as 1 here, so that the product of the other extents
    // is bounded, too: row_bytes() leaves out the first axis.
    if (!Multiply(std::max<std::uint64_t>(1, array->shape.back()), &bytes))
      return Damaged("shape");
  }
  array->largest = array->shape;
  // Bit 0 of the flags says that maximum sizes follow. A size whose bits are
  // all ones means "unlimited".
  for (std::uint64_t i = 0; i < rank && (flags & 1) != 0; ++i) {
    const std::uint64_t unlimited = UINT64_MAX >> (64 - 8 * widths.length);
    array->largest[i] = cursor.TakeLength();
    if (array->largest[i] == unlimited) array->largest[i] = UINT64_MAX;
    if (array->largest[i] < array->shape[i]) return Damaged("shape");
  }
  return cursor.ok() ? absl::OkStatus() : Damaged("shape");
}

// Reads a Fill Value message. The old message has only a size and a value. The
// newer message first says whether a value is defined: versions 1 and 2 in a
// byte of its own, version 3 in bit 5 of the flags. A value whose size is not
// that of an element is ignored, because the element type may have changed.
absl::Status ReadFill(const Message& message, ArrayLayout* array) {
  ByteCursor cursor(message.body);
  if (message.type == MessageType::kFillValue) {
    const std::uint64_t version = cursor.Take(1);
    if (version <= 2) {
      cursor.Skip(2);
      if (cursor.Take(1) == 0) return absl::OkStatus();
    } else if ((cursor.Take(1) & 0x20) == 0) {
      return absl::OkStatus();
    }
  }
  const Bytes fill = cursor.TakeBytes(cursor.Take(4));
  if (!cursor.ok()) return Damaged("fill value");
  if (fill.size() == array->type.size)
    array->fill.assign(fill.begin(), fill.end());
  return absl::OkStatus();
}

// Checks the shape of chunks, and removes its last number. The message has the
// bytes of an element in that place.
absl::Status CheckChunk(ArrayLayout* array) {
  auto& chunk = array->chunk;
  if (chunk.size() != array->shape.size() + 1 ||
      chunk.back() != array->type.size)
    return Damaged("layout");
  chunk.pop_back();
  std::uint64_t bytes = array->type.size;
  for (const std::uint64_t extent : chunk) {
    if (extent == 0 || !Multiply(extent, &bytes)) return Damaged("layout");
  }
  array->kind = ArrayLayout::Kind::kChunked;
  return absl::OkStatus();
}

// Reads the part of a layout message that follows the version number 1 or 2.
// The dimension sizes of contiguous and compact datasets repeat the Dataspace
// message.
absl::Status ReadOldLayout(ByteCursor& cursor, ArrayLayout* array) {
  const std::uint64_t rank = cursor.Take(1);
  const std::uint64_t kind = cursor.Take(1);
  cursor.Skip(5);
  if (kind > 2 || rank > kMostDimensions + 1) return Damaged("layout");
  if (kind != 0) array->address = cursor.TakeAddress();
  if (kind == 2) {
    for (std::uint64_t i = 0; i < rank; ++i)
      array->chunk.push_back(cursor.Take(4));
    array->index = ChunkIndex::kBtree1;
    return CheckChunk(array);
  }
  cursor.Skip(4 * rank);
  if (kind == 0) {
    array->kind = ArrayLayout::Kind::kCompact;
    const Bytes data = cursor.TakeBytes(cursor.Take(4));
    array->compact.assign(data.begin(), data.end());
  }
  return absl::OkStatus();
}

// Reads the part of a chunked layout that follows the class. Version 3 has
// dimension sizes of 4 bytes, and a version 1 B-tree as its only index.
absl::Status ReadChunked(ByteCursor& cursor, std::uint64_t version,
                         ArrayLayout* array) {
  if (version == 3) {
    const std::uint64_t rank = cursor.Take(1);
    array->address = cursor.TakeAddress();
    for (std::uint64_t i = 0; i < rank && cursor.ok(); ++i)
      array->chunk.push_back(cursor.Take(4));
    array->index = ChunkIndex::kBtree1;
    return CheckChunk(array);
  }
  const std::uint64_t flags = cursor.Take(1);
  const std::uint64_t rank = cursor.Take(1);
  const std::uint64_t width = cursor.Take(1);
  if (width == 0 || width > 8) return Damaged("layout");
  for (std::uint64_t i = 0; i < rank && cursor.ok(); ++i)
    array->chunk.push_back(cursor.Take(width));
  // Bit 0 of the flags: partial chunks at the edge are not filtered. Bit 1: the
  // single chunk is filtered, and its size and mask follow.
  array->plain_edges = (flags & 1) != 0;
  array->index = static_cast<ChunkIndex>(cursor.Take(1));
  std::size_t parameters = 0;
  switch (array->index) {
    case ChunkIndex::kSingle:
      if ((flags & 2) != 0) {
        array->single_bytes = cursor.TakeLength();
        array->single_mask = static_cast<std::uint32_t>(cursor.Take(4));
      }
      break;
    case ChunkIndex::kImplicit:
      break;
    case ChunkIndex::kFixedArray:
      parameters = 1;
      break;
    case ChunkIndex::kExtensibleArray:
      parameters = 5;
      break;
    case ChunkIndex::kBtree2:
      // The B-tree's header repeats its node size and its split and merge
      // percents.
      cursor.Skip(6);
      break;
    default:
      return absl::UnimplementedError(
          absl::StrCat("has an index of chunks of kind ",
                       static_cast<int>(array->index), ", which is not known"));
  }
  for (std::size_t i = 0; i < parameters; ++i)
    array->parameters[i] = static_cast<std::uint8_t>(cursor.Take(1));
  array->address = cursor.TakeAddress();
  return CheckChunk(array);
}

// Reads a Data Layout message of any version. Its classes are compact (0),
// contiguous (1), chunked (2) and virtual (3).
absl::Status ReadLayout(Bytes message, const FileView& file,
                        ArrayLayout* array) {
  ByteCursor cursor(message, file.widths());
  const std::uint64_t version = cursor.Take(1);
  if (version == 1 || version == 2) {
    FOREBAY_RETURN_IF_ERROR(ReadOldLayout(cursor, array));
  } else if (version <= 5 && version != 0) {
    const std::uint64_t kind = cursor.Take(1);
    if (kind == 0) {
      array->kind = ArrayLayout::Kind::kCompact;
      const Bytes data = cursor.TakeBytes(cursor.Take(2));
      array->compact.assign(data.begin(), data.end());
    } else if (kind == 1) {
      array->address = cursor.TakeAddress();
    } else if (kind == 2) {
      FOREBAY_RETURN_IF_ERROR(ReadChunked(cursor, version, array));
    } else if (kind == 3) {
      return absl::UnimplementedError(
          "is a virtual dataset, of which the file has no data; copy it into "
          "an ordinary one");
    } else {
      return Damaged("layout");
    }
  } else {
    return absl::UnimplementedError(absl::StrCat(
        "has a layout of version ", version, ", which is not known"));
  }
  return cursor.ok() ? absl::OkStatus() : Damaged("layout");
}

// Checks that the message has all elements of a compact dataset, or that the
// file has all elements of a contiguous one. Chunks are checked one by one as
// they are found.
absl::Status CheckElements(const FileView& file, const ArrayLayout& array) {
  std::uint64_t bytes = array.type.size;
  for (const std::uint64_t extent : array.shape) bytes *= extent;
  if (array.kind == ArrayLayout::Kind::kCompact &&
      array.compact.size() < bytes && !array.compact.empty())
    return Damaged("layout");
  if (array.kind == ArrayLayout::Kind::kContiguous && bytes > 0 &&
      array.address != kNoAddress)
    return file.Locate(array.address, bytes).status();
  return absl::OkStatus();
}

}  // namespace

std::uint64_t ArrayLayout::row_bytes() const {
  std::uint64_t bytes = type.size;
  for (std::size_t i = 1; i < shape.size(); ++i) bytes *= shape[i];
  return bytes;
}

std::uint64_t ArrayLayout::chunk_bytes() const {
  std::uint64_t bytes = type.size;
  for (const std::uint64_t extent : chunk) bytes *= extent;
  return bytes;
}

std::uint64_t ArrayLayout::chunks(std::size_t axis) const {
  return shape[axis] / chunk[axis] + (shape[axis] % chunk[axis] != 0 ? 1 : 0);
}

std::uint64_t ArrayLayout::chunks_of_row() const {
  std::uint64_t count = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) count *= chunks(i);
  return count;
}

bool ArrayLayout::has_whole_rows() const {
  return kind != Kind::kChunked ||
         std::equal(shape.begin() + 1, shape.end(), chunk.begin() + 1);
}

void ArrayLayout::MakeWhole() {
  is_whole = true;
  shape.insert(shape.begin(), 1);
  largest.insert(largest.begin(), 1);
  if (kind == Kind::kChunked) chunk.insert(chunk.begin(), 1);
}

absl::StatusOr<ArrayLayout> ReadArrayLayout(
    const FileView& file, const std::vector<Message>& messages) {
  const auto* const shape = FindMessage(messages, MessageType::kDataspace);
  const auto* const type = FindMessage(messages, MessageType::kDatatype);
  const auto* const layout = FindMessage(messages, MessageType::kLayout);
  if (shape == nullptr || type == nullptr || layout == nullptr)
    return absl::NotFoundError("is not a dataset");
  if (FindMessage(messages, MessageType::kExternalFiles) != nullptr) {
    return absl::UnimplementedError(
        "has its data in another file, which is not read");
  }
  ArrayLayout array;
  FOREBAY_ASSIGN_OR_RETURN(array.type, ParseElementType(type->body));
  // The superblock's widths determine the size of a reference.
  if (array.type.is_variable() &&
      array.type.size != ReferenceBytes(file.widths()))
    return Damaged("datatype");
  FOREBAY_RETURN_IF_ERROR(ReadShape(shape->body, file.widths(), &array));
  FOREBAY_RETURN_IF_ERROR(ReadLayout(layout->body, file, &array));
  if (const auto* const filters = FindMessage(messages, MessageType::kFilters);
      filters != nullptr) {
    FOREBAY_ASSIGN_OR_RETURN(array.filters, ParseFilters(filters->body));
  }
  // If there are both kinds of fill value message, the newer kind is used.
  const Message* fill = FindMessage(messages, MessageType::kFillValue);
  if (fill == nullptr) fill = FindMessage(messages, MessageType::kOldFillValue);
  if (fill != nullptr) FOREBAY_RETURN_IF_ERROR(ReadFill(*fill, &array));
  FOREBAY_RETURN_IF_ERROR(CheckElements(file, array));
  return array;
}

}  // namespace forebay::dataset::hdf5

#include "server/dataset/hdf5/first_file.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/hdf5/global_heap.h"
#include "server/dataset/hdf5/hdf5_row_reader.h"
#include "server/dataset/range_read.h"

namespace forebay::dataset::hdf5 {
namespace {

// Number of rows that are read to guess the type of a column, and bytes of the
// longest value that such a row may have.
constexpr std::uint64_t kRows = 8;
constexpr std::uint64_t kLongestValue = std::uint64_t{1} << 28;  // bytes

Bytes AsBytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Returns the bytes that a string has on the heap. The bytes of a short string
// lie inside the object, and were not counted.
std::uint64_t CountedBytes(const std::string& text) {
  return text.capacity() - std::string().capacity();
}

}  // namespace

FirstFile::FirstFile(storage::ByteSource& source,
                     std::shared_ptr<const storage::Root> root,
                     storage::ListedObject file, const ReadSizes& read_sizes,
                     base::WorkingMemory* memory, std::stop_token stop)
    : source_(source),
      root_(std::move(root)),
      file_(std::move(file)),
      stop_(std::move(stop)),
      view_(file_.version.size, read_sizes, memory) {}

absl::Status FirstFile::Look(absl::FunctionRef<absl::Status(FileView&)> look) {
  for (;;) {
    absl::Status status = look(view_);
    const auto wanted = view_.wanted();
    if (!absl::IsUnavailable(status) || !wanted.has_value()) return status;
    const std::uint64_t held = storage::HeldBytes(wanted->length);
    FOREBAY_RETURN_IF_ERROR(view_.memory().Grow(held));
    auto read = ReadRange({source_, root_, file_, *wanted}, nullptr, stop_);
    read_failed_ = !read.ok();
    if (read_failed_) return read.status();
    FOREBAY_RETURN_IF_ERROR(view_.Take(read->span()));
    *read = {};
    view_.memory().Shrink(held);
  }
}

absl::StatusOr<std::vector<StoredChunk>> FirstFile::FindChunks(
    const ArrayLayout& array) {
  if (array.kind != ArrayLayout::Kind::kChunked)
    return std::vector<StoredChunk>();
  ChunkWalk walk(&array);
  while (!walk.done()) {
    FOREBAY_RETURN_IF_ERROR(
        Look([&](FileView& file) { return walk.Step(file); }));
    // Bytes are forgotten between steps, so that the view never holds all of a
    // large index.
    view_.ForgetIfMany();
  }
  return walk.Take();
}

absl::Status FirstFile::ReadFirst(
    const ArrayLayout& array, std::uint64_t element_bytes,
    absl::FunctionRef<void(absl::Span<const Bytes>)> show) {
  FOREBAY_ASSIGN_OR_RETURN(const std::vector<StoredChunk> chunks,
                           FindChunks(array));
  const std::uint64_t rows = std::min(array.rows(), kRows);
  RowReader reader(&array, &chunks, rows);
  FOREBAY_RETURN_IF_ERROR(reader.Begin(view_));
  while (!reader.done()) {
    FOREBAY_RETURN_IF_ERROR(
        Look([&](FileView& file) { return reader.Step(file); }));
  }
  std::string all = reader.Take();
  std::vector<Bytes> values;
  if (!array.type.is_variable()) {
    for (std::uint64_t row = 0; row < rows; ++row) {
      values.push_back(
          AsBytes(all).subspan(row * array.row_bytes(), array.row_bytes()));
    }
    show(values);
    view_.memory().Shrink(CountedBytes(all) +
                          chunks.capacity() * sizeof(StoredChunk));
    return absl::OkStatus();
  }
  // The rows are references: the values must be copied from the heaps.
  GlobalHeapWalk walk(std::move(all), element_bytes, kLongestValue);
  FOREBAY_RETURN_IF_ERROR(walk.Begin(view_));
  while (!walk.done()) {
    FOREBAY_RETURN_IF_ERROR(
        Look([&](FileView& file) { return walk.Step(file); }));
  }
  for (const ValuePlace& place : walk.places())
    values.push_back(
        AsBytes(walk.copies()).subspan(place.offset, place.length));
  show(values);
  view_.memory().Shrink(walk.memory() +
                        chunks.capacity() * sizeof(StoredChunk));
  return absl::OkStatus();
}

}  // namespace forebay::dataset::hdf5

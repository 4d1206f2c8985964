#include "server/dataset/hdf5/first_file.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/hdf5/chunk_walk.h"
#include "server/dataset/hdf5/global_heap.h"
#include "server/dataset/hdf5/row_reader.h"
#include "server/dataset/range_read.h"

namespace forebay::dataset::hdf5 {
namespace {

constexpr std::uint64_t kRows = 8;
constexpr std::uint64_t kLongestValue = std::uint64_t{1} << 28;  // bytes

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

absl::StatusOr<std::vector<std::string>> FirstFile::ReadFirst(
    const ArrayLayout& array, std::uint64_t element_bytes) {
  std::vector<Chunk> chunks;
  if (array.kind == ArrayLayout::Kind::kChunked) {
    ChunkWalk walk(&array);
    while (!walk.done()) {
      FOREBAY_RETURN_IF_ERROR(
          Look([&](FileView& file) { return walk.Step(file); }));
      view_.ForgetIfMany();
    }
    FOREBAY_ASSIGN_OR_RETURN(chunks, walk.Take());
  }
  const std::uint64_t rows = std::min(array.rows(), kRows);
  RowReader reader(&array, &chunks, rows);
  FOREBAY_RETURN_IF_ERROR(reader.Begin(view_));
  while (!reader.done()) {
    FOREBAY_RETURN_IF_ERROR(
        Look([&](FileView& file) { return reader.Step(file); }));
  }
  const std::string all = reader.Take();
  std::vector<std::string> values;
  const bool is_variable =
      array.type.kind == ElementType::Kind::kVariableText ||
      array.type.kind == ElementType::Kind::kSequence;
  for (std::uint64_t row = 0; !is_variable && row < rows; ++row)
    values.push_back(all.substr(row * array.row_bytes(), array.row_bytes()));
  if (!is_variable) return values;
  GlobalHeapWalk walk(all, element_bytes, kLongestValue);
  FOREBAY_RETURN_IF_ERROR(walk.Begin(view_));
  while (!walk.done()) {
    FOREBAY_RETURN_IF_ERROR(
        Look([&](FileView& file) { return walk.Step(file); }));
  }
  for (const ValuePlace& place : walk.places())
    values.push_back(walk.kept().substr(place.offset, place.length));
  return values;
}

}  // namespace forebay::dataset::hdf5

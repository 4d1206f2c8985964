#include "server/dataset/hdf5/hdf5_row_reader.h"

#include <algorithm>
#include <memory>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::dataset::hdf5 {
namespace {

// The most bytes of a contiguous dataset that one step reads.
constexpr std::uint64_t kPiece = std::uint64_t{1} << 18;  // bytes

}  // namespace

void FillValue(const std::string& fill, std::uint64_t offset,
               absl::Span<std::uint8_t> rows) {
  if (fill.empty()) {
    std::fill(rows.begin(), rows.end(), std::uint8_t{0});
    return;
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = static_cast<std::uint8_t>(fill[(offset + i) % fill.size()]);
}

void CopyChunk(const ArrayLayout& array, std::uint64_t number, Bytes chunk,
               std::uint64_t first, absl::Span<std::uint8_t> rows) {
  const std::size_t rank = array.shape.size();
  const std::uint64_t row_bytes = array.row_bytes();
  if (row_bytes == 0) return;
  const std::uint64_t end = first + rows.size() / row_bytes;
  // Along each axis, the chunk's first element, and the number of its elements
  // within the dataset. At the edge, a chunk reaches beyond the dataset.
  std::vector<std::uint64_t> begin(rank);
  std::vector<std::uint64_t> count(rank);
  for (std::size_t axis = rank; axis-- > 0;) {
    const std::uint64_t chunks = array.chunks(axis);
    begin[axis] = number % chunks * array.chunk[axis];
    number /= chunks;
    count[axis] = std::min(array.chunk[axis], array.shape[axis] - begin[axis]);
  }
  // Range of the dataset's rows that the chunk shares with `rows`: `from`
  // counts from the chunk's first row, `to` from the dataset's.
  const std::uint64_t from = std::max(first, begin[0]) - begin[0];
  const std::uint64_t to = std::min(end, begin[0] + count[0]);
  if (to <= begin[0] + from) return;
  // Bytes that follow one another both in the chunk and in `rows`: a line along
  // the last axis or, if there is only one axis, all shared rows.
  const std::uint64_t run =
      (rank == 1 ? to - begin[0] - from : count[rank - 1]) * array.type.size;
  std::vector<std::uint64_t> at(rank);
  at[0] = from;
  // The loop moves the position `at` in C order along all axes but the last.
  while (at[0] + begin[0] < to) {
    std::uint64_t source = 0;
    std::uint64_t target = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      source = source * array.chunk[axis] + at[axis];
      target = target * array.shape[axis] + begin[axis] + at[axis] -
               (axis == 0 ? first : 0);
    }
    const Bytes bytes = chunk.subspan(source * array.type.size, run);
    std::copy(
        bytes.begin(), bytes.end(),
        rows.begin() + static_cast<std::ptrdiff_t>(target * array.type.size));
    if (rank == 1) return;
    for (std::size_t axis = rank - 1; axis-- > 0;) {
      if (++at[axis] < count[axis] || axis == 0) break;
      at[axis] = 0;
    }
  }
}

absl::Status RowReader::Begin(FileView& file) {
  FOREBAY_CHECK(rows_ <= array_.rows());
  const std::uint64_t bytes = rows_ * array_.row_bytes();
  FOREBAY_RETURN_IF_ERROR(file.memory().MakeRoom(output_, bytes));
  output_.resize(bytes);
  FillValue(array_.fill, 0,
            {reinterpret_cast<std::uint8_t*>(output_.data()), bytes});
  const bool is_chunked = array_.kind == ArrayLayout::Kind::kChunked;
  if (is_chunked && array_.chunk_bytes() > kLargestChunk) {
    return absl::UnimplementedError(absl::StrCat(
        "has chunks of ", array_.chunk_bytes(), " bytes; chunks of at most ",
        kLargestChunk, " can be decompressed"));
  }
  done_ = output_.empty();
  return absl::OkStatus();
}

absl::Status RowReader::Step(FileView& file) {
  FOREBAY_CHECK(!done_);
  if (array_.kind == ArrayLayout::Kind::kChunked) return ReadChunk(file);
  return ReadElements(file);
}

absl::Status RowReader::ReadElements(FileView& file) {
  if (array_.kind == ArrayLayout::Kind::kCompact) {
    if (!array_.compact.empty()) {
      FOREBAY_CHECK(array_.compact.size() >= output_.size());
      std::copy_n(array_.compact.begin(), output_.size(), output_.begin());
    }
    done_ = true;
    return absl::OkStatus();
  }
  // A contiguous dataset is read in pieces. A dataset without an address was
  // never written; all its elements have the fill value.
  if (array_.address != kNoAddress) {
    const std::uint64_t count = std::min(kPiece, output_.size() - at_);
    FOREBAY_ASSIGN_OR_RETURN(const Bytes bytes,
                             file.At(array_.address + at_, count));
    std::copy(bytes.begin(), bytes.end(),
              output_.begin() + static_cast<std::ptrdiff_t>(at_));
    at_ += count;
    done_ = at_ == output_.size();
  } else {
    done_ = true;
  }
  return absl::OkStatus();
}

absl::Status RowReader::ReadChunk(FileView& file) {
  const std::uint64_t per_row = array_.chunks_of_row();
  // Chunks are sorted, so the first chunk beyond the wanted rows ends the work.
  if (next_chunk_ == chunks_.size() ||
      chunks_[next_chunk_].number / per_row * array_.chunk[0] >= rows_) {
    done_ = true;
    return absl::OkStatus();
  }
  const StoredChunk& chunk = chunks_[next_chunk_];
  FOREBAY_ASSIGN_OR_RETURN(const Bytes compressed,
                           file.AtOffset(chunk.offset, chunk.bytes));
  const absl::Span<std::uint8_t> rows(
      reinterpret_cast<std::uint8_t*>(output_.data()), output_.size());
  if (chunk.mask == UINT32_MAX) {
    CopyChunk(array_, chunk.number, compressed, 0, rows);
  } else {
    const std::uint64_t bytes = array_.chunk_bytes();
    const std::uint64_t decompressing =
        RoomToUnfilter(array_.filters, chunk.mask, bytes);
    FOREBAY_RETURN_IF_ERROR(file.memory().Grow(decompressing));
    const absl::Cleanup counted = [&] { file.memory().Shrink(decompressing); };
    const auto room = std::make_unique<std::uint8_t[]>(decompressing);
    FOREBAY_ASSIGN_OR_RETURN(const Bytes plain,
                             Unfilter(array_.filters, chunk.mask, compressed,
                                      bytes, {room.get(), decompressing}));
    CopyChunk(array_, chunk.number, plain, 0, rows);
  }
  ++next_chunk_;
  return absl::OkStatus();
}

}  // namespace forebay::dataset::hdf5

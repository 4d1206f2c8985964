#include "server/dataset/npz/row_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::dataset::npz {
namespace {

constexpr char kWhat[] = "the rows of .npz files";

// Rows are joined into pieces, and one system call writes each piece. A piece
// has at most this many bytes, unless a single row has more. A system call for
// each row would cost more than the copy.
constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;

}  // namespace

RowMemory::RowMemory(base::MemoryBudget* budget)
    : memory_(budget, kWhat),
      fd_(memfd_create("forebay-rows", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {}

absl::Status RowMemory::Write(absl::Span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return base::ErrnoStatus(errno, kWhat);
    bytes.remove_prefix(static_cast<std::size_t>(count));
    written_ += static_cast<std::uint64_t>(count);
  }
  return absl::OkStatus();
}

absl::Status RowMemory::Append(absl::Span<const RowColumn> columns,
                               std::uint64_t count) {
  if (!fd_) return base::ErrnoStatus(errno, kWhat);
  // If there are no rows, a row may have 0 bytes, and the code below divides by
  // the bytes of a row.
  if (count == 0) return absl::OkStatus();
  std::uint64_t record = 0;  // bytes
  for (const RowColumn& column : columns) record += column.row_bytes;
  FOREBAY_CHECK(record > 0);
  const std::uint64_t at_once = std::max(kPiece / record, std::uint64_t{1});
  // `memory_` counts the rows in the file and `piece`.
  FOREBAY_RETURN_IF_ERROR(memory_.Grow((count + at_once) * record));
  std::vector<std::uint8_t> piece;
  for (std::uint64_t row = 0; row < count;) {
    const std::uint64_t end = std::min(count, row + at_once);
    piece.resize((end - row) * record);
    for (std::uint8_t* out = piece.data(); row < end; ++row) {
      for (const RowColumn& column : columns) {
        const std::uint8_t* const from = column.rows + row * column.row_bytes;
        out = std::copy(from, from + column.row_bytes, out);
      }
    }
    FOREBAY_RETURN_IF_ERROR(Write(piece));
  }
  memory_.Shrink(at_once * record);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const base::SealedMemory>> RowMemory::Seal() {
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (!fd_ || fcntl(fd_.get(), F_ADD_SEALS, kSeals) != 0)
    return base::ErrnoStatus(errno, kWhat);
  // The sealed memory has a reservation of its own for the same bytes.
  memory_.Shrink(written_);
  FOREBAY_ASSIGN_OR_RETURN(base::MemoryReservation rows,
                           memory_.Keep(written_));
  return base::SealedMemory::Map(fd_, std::move(rows), kWhat);
}

}  // namespace forebay::dataset::npz

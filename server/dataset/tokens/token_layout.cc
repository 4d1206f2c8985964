#include "server/dataset/tokens/token_layout.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/base/working_memory.h"
#include "server/dataset/npy/npy_rows.h"

namespace forebay::dataset::tokens {
namespace {

// Whether a file that begins with `start` has the indexed tokens.
bool IsAsIndexed(const TokenIndex& index, std::size_t file,
                 absl::Span<const std::uint8_t> start) {
  const std::uint64_t offset = index.DataOffsetOf(file);
  // If the file has no header, only the file's size tells the number of tokens.
  // The source has checked the size.
  if (offset == 0) return true;
  const auto rows = npy::ReadNpyRows(start, index.FileAt(file).version.size);
  return rows.ok() && rows->type.shape.empty() &&
         rows->type.dtype == index.dtype() && rows->data_offset == offset;
}

}  // namespace

void TokenLayout::Revalidate(
    const storage::ReadRequest& read, storage::ByteSource& source,
    std::function<void(absl::StatusOr<storage::Revision>)> done) const {
  const std::size_t file = index_->FindFile(read.object);
  const storage::Revision known = index_->VersionOf(file).revision;
  // If the revisions differ, another read has revalidated the file meanwhile.
  if (known != read.version.revision) return done(known);
  storage::ReadRequest request;
  request.root = read.root;
  request.object = read.object;
  request.version = read.version;
  request.version.revision.ctime_nanos = 0;  // any ctime will do
  request.length = std::max<std::uint64_t>(index_->DataOffsetOf(file), 1);
  request.purpose = read.purpose;
  request.ticket = read.ticket;
  const auto memory = std::make_shared<base::WorkingMemory>(
      budget_, "revalidating a file of tokens");
  const absl::Status counted = memory->Grow(storage::HeldBytes(request.length));
  if (!counted.ok()) return done(counted);
  request.done = [index = index_, memory, file, done = std::move(done)](
                     const absl::StatusOr<storage::ReadResult>& start) {
    if (!start.ok()) return done(start.status());
    if (IsAsIndexed(*index, file, start->bytes.span()) &&
        index->Accept(file, start->revision))
      return done(start->revision);
    done(absl::FailedPreconditionError(
        absl::StrCat(index->FileAt(file).name,
                     ": was rewritten since the dataset was indexed")));
  };
  source.Read({&request, 1});
}

}  // namespace forebay::dataset::tokens

#include "server/dataset/npy/npy_layout.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/base/working_memory.h"
#include "server/dataset/npy/npy_rows.h"

namespace forebay::dataset::npy {
namespace {

// Returns the revision of the file that was read, if its header still agrees
// with the index. FAILED_PRECONDITION: the header does not agree.
absl::StatusOr<storage::Revision> Judge(
    const NpyIndex& index, const std::string& path, std::uint64_t file_bytes,
    const absl::StatusOr<storage::ReadResult>& header) {
  if (!header.ok()) return header.status();
  // A header that cannot be parsed also means that the file was rewritten.
  const auto rows = ReadNpyRows(header->bytes.span(), file_bytes);
  if (rows.ok() && index.Accept(path, header->revision, *rows))
    return header->revision;
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": was rewritten since the dataset was indexed"));
}

}  // namespace

void NpyLayout::Revalidate(
    const storage::ReadRequest& read, storage::ByteSource& source,
    std::function<void(absl::StatusOr<storage::Revision>)> done) const {
  const storage::Revision known = index_->RevisionOf(read.object);
  // If the revisions differ, another revalidation of the file has ended
  // meanwhile, and the index has a newer revision already.
  if (known != read.version.revision) return done(known);
  storage::ReadRequest request;
  request.root = read.root;
  request.object = read.object;
  request.version = read.version;
  // A ctime of 0 agrees with any other: the read must accept the file although
  // its ctime has changed.
  request.version.revision.ctime_nanos = 0;
  request.length = index_->DataOffsetOf(read.object);
  request.purpose = read.purpose;
  request.ticket = read.ticket;
  const auto memory = std::make_shared<base::WorkingMemory>(
      budget_, "revalidating a .npy file");
  const absl::Status counted = memory->Grow(storage::HeldBytes(request.length));
  if (!counted.ok()) return done(counted);
  request.done = [index = index_, memory, path = read.object,
                  file_bytes = read.version.size, done = std::move(done)](
                     const absl::StatusOr<storage::ReadResult>& header) {
    done(Judge(*index, path, file_bytes, header));
  };
  source.Read({&request, 1});
}

}  // namespace forebay::dataset::npy

#ifndef FOREBAY_SERVER_STORAGE_LOCAL_READ_RULES_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_READ_RULES_H_

#include <sys/stat.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/storage/byte_source.h"
#include "server/storage/local/local_root.h"

// The rules for reads of local files, for all sources that make them.
namespace forebay::storage::local {

// Returns the request's root. INVALID_ARGUMENT: it is no LocalRoot.
absl::StatusOr<const LocalRoot*> LocalRootOf(const ReadRequest& request);

// INVALID_ARGUMENT: the range lies outside the version asked for.
absl::Status CheckRange(const ReadRequest& request);

// Returns the revision of an open file that has that stat. INVALID_ARGUMENT: it
// is no regular file. FAILED_PRECONDITION: it is not the version asked for.
// ABORTED: it is, except for its ctime. The revision has the version's mark,
// which is not checked.
absl::StatusOr<Revision> CheckVersion(const LocalRoot& root,
                                      const ReadRequest& request, int file,
                                      const struct stat& stat);

// Does what CheckVersion does for an open file, and fills in its stat. Errors
// also as FileError says of fstat.
absl::StatusOr<Revision> CheckOpenFile(const ReadRequest& request, int file,
                                       struct stat* stat);

// To be called after the file was read. FAILED_PRECONDITION: the version has a
// mark, and the file, which `read` reads, another or none.
absl::Status CheckMark(const ReadRequest& request,
                       const ObjectLayout::ReadPart& read);

// DATA_LOSS: the file gave only `filled` bytes of the range.
absl::Status EndsEarly(const ReadRequest& request, std::uint64_t filled);

// CANCELLED: the source ends before it has begun this read.
absl::Status ShuttingDown(const ReadRequest& request);

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_READ_RULES_H_

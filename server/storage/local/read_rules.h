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

// Returns the request's root, or INVALID_ARGUMENT if it is not a LocalRoot.
// Like all functions of this header it is thread-safe, and does not block.
absl::StatusOr<const LocalRoot*> LocalRootOf(const ReadRequest& request);

// Returns INVALID_ARGUMENT if the range lies outside the version asked for.
absl::Status CheckRange(const ReadRequest& request);

// Returns the revision of an open file that has `stat`. The revision has the
// version's transaction id, which is not checked. Errors:
// - INVALID_ARGUMENT: the file is not a regular file.
// - FAILED_PRECONDITION: the file is not the version asked for.
// - ABORTED: the file is that version, except for its ctime.
absl::StatusOr<Revision> CheckVersion(const LocalRoot& root,
                                      const ReadRequest& request, int file,
                                      const struct stat& stat);

// Returns the revision of an open file as CheckVersion does, and fills in its
// stat. If fstat fails, returns the error of FileError.
absl::StatusOr<Revision> CheckOpenFile(const ReadRequest& request, int file,
                                       struct stat* stat);

// Checks the file's transaction id after a read, if the version has one. `read`
// reads parts of the file. FAILED_PRECONDITION: the file has another
// transaction id, or none.
absl::Status CheckTransactionId(const ReadRequest& request,
                                const ObjectLayout::ReadPart& read);

// Returns DATA_LOSS: the file gave only `filled` bytes of the range.
absl::Status EndsEarly(const ReadRequest& request, std::uint64_t filled);

// Returns CANCELLED: the source ends before it has begun this read.
absl::Status ShuttingDown(const ReadRequest& request);

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_READ_RULES_H_

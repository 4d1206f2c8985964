#ifndef FOREBAY_SERVER_STORAGE_LOCAL_WRITER_LOCK_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_WRITER_LOCK_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "server/storage/local/local_root.h"

namespace forebay::storage::local {

// Returns whether a process holds the exclusive flock(2) of a file, as writers
// of HDF5 do while they have it open. To find out, takes the shared lock on a
// descriptor of its own, and drops it at once. Returns false where the file
// system has no locks, or cannot be asked.
//
// Thread-safe. May block for the disk, or for the host of a network file
// system, but never for the holder of the lock. Errors are those of
// LocalRoot::Open.
absl::StatusOr<bool> IsLockedByWriter(const LocalRoot& root,
                                      std::string_view path);

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_WRITER_LOCK_H_

#ifndef FOREBAY_SERVER_STORAGE_LOCAL_WITHOUT_WAITING_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_WITHOUT_WAITING_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "server/storage/byte_source.h"
#include "server/storage/local/local_root.h"

// The kernel answers the system calls of these functions at once, from its
// caches. They fail if they would wait for a disk, or if the kernel or the file
// system cannot tell. Thread-safe.

namespace forebay::storage::local {

// Opens a file, and returns a descriptor that the caller closes, or minus
// errno.
int OpenWithoutWaiting(const LocalRoot& root, const std::string& path);

// Returns the number of bytes read, or minus errno.
ssize_t ReadWithoutWaiting(int file, void* buffer, std::size_t length,
                           std::uint64_t offset);

// Checks the transaction id of an open file that has `stat`, as
// CheckTransactionId says. A file that is read past the page cache is opened
// once more, to read small parts. Returns nullopt if the check would wait.
std::optional<absl::Status> CheckTransactionIdWithoutWaiting(
    const ReadRequest& request, int file, bool is_past_cache,
    const struct stat& stat);

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_WITHOUT_WAITING_H_

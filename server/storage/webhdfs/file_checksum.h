#ifndef FOREBAY_SERVER_STORAGE_WEBHDFS_FILE_CHECKSUM_H_
#define FOREBAY_SERVER_STORAGE_WEBHDFS_FILE_CHECKSUM_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "server/storage/http/client.h"
#include "server/storage/webhdfs/hdfs_root.h"

namespace forebay::storage::webhdfs {

// Returns the call, without its `done`, that asks for a file's checksum.
// ParseChecksum takes its answer.
//
// The name node redirects to a data node, which asks the data nodes that have
// the file's blocks. A gateway answers itself; its error is INVALID_ARGUMENT if
// it knows no checksums. Thread-safe; never blocks. INVALID_ARGUMENT: no file
// can have that name; the message is only the reason.
absl::StatusOr<http::Call> ChecksumCall(const HdfsRoot& root,
                                        std::string_view object);

}  // namespace forebay::storage::webhdfs

#endif  // FOREBAY_SERVER_STORAGE_WEBHDFS_FILE_CHECKSUM_H_

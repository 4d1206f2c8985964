#ifndef FOREBAY_SERVER_STORAGE_READ_NOW_H_
#define FOREBAY_SERVER_STORAGE_READ_NOW_H_

#include <stop_token>

#include "absl/status/statusor.h"
#include "server/storage/byte_source.h"

namespace forebay::storage {

// Makes a read and waits for its result; the caller leaves `done` empty.
// Thread-safe. Blocks for the read, but not for long once `stop` is requested:
// the read may then still be in flight. Errors are those of the source, and
// CANCELLED if `stop` was requested.
absl::StatusOr<ReadResult> ReadNow(ByteSource& source, ReadRequest request,
                                   const std::stop_token& stop);

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_READ_NOW_H_

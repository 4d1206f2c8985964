#ifndef FOREBAY_SERVER_STORAGE_READ_NOW_H_
#define FOREBAY_SERVER_STORAGE_READ_NOW_H_

#include <stop_token>

#include "absl/status/statusor.h"
#include "server/base/bytes.h"
#include "server/storage/byte_source.h"

namespace forebay::storage {

// What `source` gives for `request`, whose `done` it sets. Blocks for the read,
// but not for long once `stop` is requested: the read may then still be under
// way. Writes into `seen`, if it is given, of which revision the bytes are.
// Thread-safe. Errors: the source's; CANCELLED: it was stopped.
absl::StatusOr<base::Bytes> ReadNow(ByteSource& source, ReadRequest request,
                                    const std::stop_token& stop,
                                    Revision* seen = nullptr);

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_READ_NOW_H_

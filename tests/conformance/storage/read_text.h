#ifndef FOREBAY_TESTS_CONFORMANCE_STORAGE_READ_TEXT_H_
#define FOREBAY_TESTS_CONFORMANCE_STORAGE_READ_TEXT_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/storage/byte_source.h"
#include "server/storage/read_now.h"

namespace forebay::storage {

// What `source` gives for `request`, as text. Blocks for it.
inline absl::StatusOr<std::string> ReadText(ByteSource& source,
                                            ReadRequest request) {
  Revision* const seen = request.seen;
  const auto bytes = ReadNow(source, std::move(request), {}, seen);
  if (!bytes.ok()) return bytes.status();
  return std::string(bytes->span().begin(), bytes->span().end());
}

}  // namespace forebay::storage

#endif  // FOREBAY_TESTS_CONFORMANCE_STORAGE_READ_TEXT_H_

#ifndef FOREBAY_TESTS_CONFORMANCE_STORAGE_READ_TEXT_H_
#define FOREBAY_TESTS_CONFORMANCE_STORAGE_READ_TEXT_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/storage/byte_source.h"
#include "server/storage/read_now.h"

namespace forebay::storage {

// Reads the range of `request` from `source`, and returns it as text. Unless
// `seen` is null, writes the revision of these bytes to it. Blocks until the
// read is done.
inline absl::StatusOr<std::string> ReadText(ByteSource& source,
                                            ReadRequest request,
                                            Revision* seen = nullptr) {
  const auto result = ReadNow(source, std::move(request), {});
  if (!result.ok()) return result.status();
  if (seen != nullptr) *seen = result->revision;
  return std::string(result->bytes.span().begin(), result->bytes.span().end());
}

}  // namespace forebay::storage

#endif  // FOREBAY_TESTS_CONFORMANCE_STORAGE_READ_TEXT_H_

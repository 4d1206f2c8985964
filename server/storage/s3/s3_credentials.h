#ifndef FOREBAY_SERVER_STORAGE_S3_S3_CREDENTIALS_H_
#define FOREBAY_SERVER_STORAGE_S3_S3_CREDENTIALS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "server/storage/s3/settings.h"
#include "server/storage/s3/signature.h"

namespace forebay::storage::s3 {

// The daemon's credentials for S3.
struct Credentials {
  // The keys. Without them requests are not signed.
  std::optional<Keys> keys;
  std::string name;  // human-readable

  bool operator==(const Credentials&) const = default;
};

// Finds the credentials, in this order:
// 1. The file or profile that the configuration names.
// 2. The keys of the environment.
// 3. The file and profile of the environment.
//
// The result has no keys if all of these are missing, or if "none" is
// configured: only public objects can then be read. Thread-safe; blocks for
// file I/O. Errors name the file, never its content: NOT_FOUND (a file or
// profile that is named is missing), PERMISSION_DENIED, INVALID_ARGUMENT (a
// profile without keys).
absl::StatusOr<Credentials> FindCredentials(const S3Settings& settings,
                                            const Environment& environment);

}  // namespace forebay::storage::s3

#endif  // FOREBAY_SERVER_STORAGE_S3_S3_CREDENTIALS_H_

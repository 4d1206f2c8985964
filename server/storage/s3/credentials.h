#ifndef FOREBAY_SERVER_STORAGE_S3_CREDENTIALS_H_
#define FOREBAY_SERVER_STORAGE_S3_CREDENTIALS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "server/storage/s3/settings.h"
#include "server/storage/s3/signature.h"

namespace forebay::storage::s3 {

// The daemon's credentials for S3.
struct Credentials {
  std::optional<Keys> keys;  // none: requests are not signed
  std::string name;          // for people

  bool operator==(const Credentials&) const = default;
};

// Finds the credentials: those of the file or profile that is configured, else
// of the environment's keys, else of the environment's file and profile. There
// are none if all of these are missing, or "none" is configured: then only
// public objects can be read. Blocks for file I/O. Errors name the file, never
// its content: NOT_FOUND (a file or profile that is named is missing),
// PERMISSION_DENIED, INVALID_ARGUMENT (a profile without keys).
absl::StatusOr<Credentials> FindCredentials(const Settings& settings,
                                            const Environment& environment);

}  // namespace forebay::storage::s3

#endif  // FOREBAY_SERVER_STORAGE_S3_CREDENTIALS_H_

#ifndef FOREBAY_SERVER_STORAGE_GCS_GCS_CREDENTIALS_H_
#define FOREBAY_SERVER_STORAGE_GCS_GCS_CREDENTIALS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/base/clock.h"
#include "server/storage/gcs/token_source.h"
#include "server/storage/http/client.h"

namespace forebay::storage::gcs {

// The environment's settings for credentials. A setting is "" if it is not set.
struct CredentialsEnvironment {
  // GOOGLE_APPLICATION_CREDENTIALS: the path of a file with credentials.
  std::string key_file;
  // CLOUDSDK_CONFIG, or HOME/.config/gcloud if that is not set: gcloud's
  // folder.
  std::string gcloud;
  // GCE_METADATA_HOST, or Google's own name if that is not set.
  std::string metadata_host;

  // Returns the environment of this process.
  static CredentialsEnvironment OfProcess();
};

// Finds the credentials of this host in the order of Google's libraries:
// 1. The file that GOOGLE_APPLICATION_CREDENTIALS names: the key of a service
//    account, or a user's credentials.
// 2. The file application_default_credentials.json of gcloud.
// 3. The metadata server.
//
// Uses the first credentials that it finds, and fails if these are faulty.
// Returns null if there are none: only public objects can then be read.
//
// Must not be called on the thread of `client`'s engine. Blocks for files and
// for the metadata server, some seconds if there is none. `client` and `wall`
// (nanoseconds since 1970) outlive the result. Errors name the file: NOT_FOUND,
// PERMISSION_DENIED, INVALID_ARGUMENT.
absl::StatusOr<std::unique_ptr<TokenSource>> FindCredentials(
    const CredentialsEnvironment& environment, http::Client* client,
    const base::Clock* wall);

}  // namespace forebay::storage::gcs

#endif  // FOREBAY_SERVER_STORAGE_GCS_GCS_CREDENTIALS_H_

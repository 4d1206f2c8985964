#ifndef FOREBAY_SERVER_STORAGE_GCS_CREDENTIALS_H_
#define FOREBAY_SERVER_STORAGE_GCS_CREDENTIALS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/base/clock.h"
#include "server/storage/gcs/token_source.h"
#include "server/storage/http/client.h"

namespace forebay::storage::gcs {

// What the environment says about credentials; "" where it says nothing.
struct CredentialsEnvironment {
  std::string key_file;       // GOOGLE_APPLICATION_CREDENTIALS
  std::string gcloud;         // CLOUDSDK_CONFIG, else HOME/.config/gcloud
  std::string metadata_host;  // GCE_METADATA_HOST, else Google's

  static CredentialsEnvironment OfProcess();
};

// Finds the credentials of this host in the order of Google's libraries: the
// file that GOOGLE_APPLICATION_CREDENTIALS names (a service account's key, or a
// user's), gcloud's file, the metadata server. Null where there are none: only
// public objects can be read. What is found is used, and a fault in it is told,
// not passed over. Reads files and asks the metadata server, which may take
// some seconds where there is none; not to be called on the engine's thread.
// `client` and `wall` (nanoseconds since 1970) must outlive what it gives.
// Errors name the file: NOT_FOUND, PERMISSION_DENIED, INVALID_ARGUMENT.
absl::StatusOr<std::unique_ptr<TokenSource>> FindCredentials(
    const CredentialsEnvironment& environment, http::Client* client,
    const base::Clock* wall);

}  // namespace forebay::storage::gcs

#endif  // FOREBAY_SERVER_STORAGE_GCS_CREDENTIALS_H_

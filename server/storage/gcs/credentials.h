#ifndef FOREBAY_SERVER_STORAGE_GCS_CREDENTIALS_H_
#define FOREBAY_SERVER_STORAGE_GCS_CREDENTIALS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/base/clock.h"
#include "server/storage/gcs/token_source.h"
#include "server/storage/http/client.h"

namespace forebay::storage::gcs {

// The environment's settings for credentials; "" if unset.
struct CredentialsEnvironment {
  std::string key_file;       // GOOGLE_APPLICATION_CREDENTIALS
  std::string gcloud;         // CLOUDSDK_CONFIG, else HOME/.config/gcloud
  std::string metadata_host;  // GCE_METADATA_HOST, else Google's

  static CredentialsEnvironment OfProcess();
};

// Finds the credentials of this host in the order of Google's libraries: the
// file that GOOGLE_APPLICATION_CREDENTIALS names (a service account's key, or a
// user's), gcloud's file, the metadata server. Uses the first that it finds; a
// fault in it is an error. Returns null if there are none: then only public
// objects can be read. Reads files and asks the metadata server, which may take
// some seconds if there is none; not to be called on the engine's thread.
// `client` and `wall` (nanoseconds since 1970) must outlive the result. Errors
// name the file: NOT_FOUND, PERMISSION_DENIED, INVALID_ARGUMENT.
absl::StatusOr<std::unique_ptr<TokenSource>> FindCredentials(
    const CredentialsEnvironment& environment, http::Client* client,
    const base::Clock* wall);

}  // namespace forebay::storage::gcs

#endif  // FOREBAY_SERVER_STORAGE_GCS_CREDENTIALS_H_

#ifndef FOREBAY_SERVER_DAEMON_S3_READS_H_
#define FOREBAY_SERVER_DAEMON_S3_READS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/storage/byte_source.h"
#include "server/storage/domain_source.h"
#include "server/storage/http/client.h"
#include "server/storage/http/entity_tags.h"
#include "server/storage/s3/credentials_cache.h"
#include "server/storage/s3/s3_lister.h"
#include "server/storage/s3/s3_protocol.h"
#include "server/storage/s3/settings.h"

namespace forebay::daemon {

// The settings of S3, from the configuration and from the environment.
struct S3Setup {
  storage::s3::S3Settings settings;
  storage::s3::Environment environment;
};

// The parts that read buckets of S3, with the daemon's own credentials. The
// daemon's configuration or environment names the one server that has the
// buckets.
//
// Thread-safe. RemoteReads owns it. `client` outlives this object; roots may
// live longer than it. Destruction ends the reads that are under way. Only
// Create and Open have errors; both block for file I/O.
class S3Reads {
 public:
  // Creates the parts. INVALID_ARGUMENT: a setting cannot be used. Other errors
  // are those of reading files. Messages name the setting or the file.
  static absl::StatusOr<std::unique_ptr<S3Reads>> Create(
      const S3Setup& setup, storage::http::Client* client);

  // Returns the root of the bucket that `uri` names. Searches for credentials
  // each time, because they may have changed. Errors are those of
  // S3Root::Create and FindCredentials.
  absl::StatusOr<std::shared_ptr<const storage::Root>> Open(
      const std::string& uri);

  storage::DomainSource* source() { return &source_; }
  storage::s3::S3Lister* lister() { return &lister_; }
  const storage::DomainSource& source() const { return source_; }
  // Returns a name for the credentials, for messages.
  std::string credentials() const { return credentials_.name(); }

 private:
  S3Reads(const S3Setup& setup, storage::s3::Endpoint endpoint,
          storage::http::Client* client);

  const storage::s3::Endpoint endpoint_;
  storage::http::EntityTags tags_;
  const storage::s3::S3Protocol protocol_;
  storage::s3::CredentialsCache credentials_;
  storage::s3::S3Lister lister_;
  storage::DomainSource source_;
};

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_S3_READS_H_

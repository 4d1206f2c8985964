#ifndef FOREBAY_SERVER_DAEMON_S3_READS_H_
#define FOREBAY_SERVER_DAEMON_S3_READS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/storage/byte_source.h"
#include "server/storage/domain_source.h"
#include "server/storage/http/client.h"
#include "server/storage/http/entity_tags.h"
#include "server/storage/s3/kept_credentials.h"
#include "server/storage/s3/s3_lister.h"
#include "server/storage/s3/s3_protocol.h"
#include "server/storage/s3/settings.h"

namespace forebay::daemon {

// The settings of S3: the configuration's, and the environment's.
struct S3Setup {
  storage::s3::Settings settings;
  storage::s3::Environment environment;
};

// The parts that read buckets of S3, with the daemon's own credentials, from
// the one server that the daemon's configuration or environment names.
//
// Thread-safe. `client` outlives it; its own roots may outlive it. Destruction
// ends the reads that are under way. Create and Open block for file I/O. Errors
// of Create: INVALID_ARGUMENT (settings of no use), and those of files that
// cannot be read; they name the setting or file.
class S3Reads {
 public:
  static absl::StatusOr<std::unique_ptr<S3Reads>> Create(
      const S3Setup& setup, storage::http::Client* client);

  // Looks for credentials once more, and returns the root of a bucket. Errors:
  // those of S3Root::Create and FindCredentials.
  absl::StatusOr<std::shared_ptr<const storage::Root>> Open(
      const std::string& uri);

  storage::DomainSource* source() { return &source_; }
  storage::s3::S3Lister* lister() { return &lister_; }
  const storage::DomainSource& source() const { return source_; }
  // Names the credentials, for people.
  std::string credentials() const { return credentials_.name(); }

 private:
  S3Reads(const S3Setup& setup, storage::s3::Endpoint endpoint,
          storage::http::Client* client);

  const storage::s3::Endpoint endpoint_;
  storage::http::EntityTags tags_;
  const storage::s3::S3Protocol protocol_;
  storage::s3::KeptCredentials credentials_;
  storage::s3::S3Lister lister_;
  storage::DomainSource source_;
};

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_S3_READS_H_

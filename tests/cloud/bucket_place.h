#ifndef FOREBAY_TESTS_CLOUD_BUCKET_PLACE_H_
#define FOREBAY_TESTS_CLOUD_BUCKET_PLACE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/storage/byte_source.h"
#include "server/storage/gcs/token_cache.h"
#include "server/storage/gcs/token_source.h"
#include "server/storage/http/authorizer.h"
#include "server/storage/http/client.h"
#include "server/storage/http/entity_tags.h"
#include "server/storage/http/object_list.h"
#include "server/storage/http/protocol.h"
#include "server/storage/object_lister.h"
#include "server/storage/s3/credentials_cache.h"
#include "server/storage/webhdfs/hdfs_lister.h"

namespace forebay::tests {

// The credentials with which a bucket is read; an empty one is not used.
struct BucketReader {
  std::string metadata_host;  // gs://: HOST:PORT of a metadata server
  std::string credentials;    // s3://: a file of credentials
};

// A bucket of Cloud Storage or of S3, or a folder of HDFS, with the objects by
// which the daemon reads it. It must outlive the client that Open gets and all
// calls of that client. The engine must outlive it. Open and List block.
class BucketPlace {
 public:
  // `uri` is gs://BUCKET/PREFIX, s3://BUCKET/PREFIX or hdfs://HOST/PATH.
  static absl::StatusOr<std::unique_ptr<BucketPlace>> Open(
      const std::string& endpoint, const std::string& uri,
      const BucketReader& reader, storage::http::Client* client);

  absl::StatusOr<std::vector<storage::ListedObject>> List(
      storage::http::Client* client) const;

  const std::shared_ptr<const storage::Root>& root() const { return root_; }
  const storage::http::Protocol* protocol() const { return protocol_.get(); }
  storage::http::Authorizer* authorizer() const { return authorizer_; }
  // Whether answers to reads tell the version. If not, a
  // webhdfs::VersionedSource asks for the version.
  bool tells_versions() const { return files_ == nullptr; }

 private:
  absl::Status OpenGcs(const std::string& endpoint, const std::string& uri,
                       const BucketReader& reader,
                       storage::http::Client* client);
  absl::Status OpenS3(const std::string& endpoint, const std::string& uri,
                      const BucketReader& reader,
                      storage::http::Client* client);
  absl::Status OpenHdfs(const std::string& endpoint, const std::string& uri,
                        storage::http::Client* client);

  std::unique_ptr<storage::gcs::TokenSource> tokens_;
  std::unique_ptr<storage::gcs::TokenCache> token_;
  std::unique_ptr<storage::s3::CredentialsCache> credentials_;
  storage::http::Authorizer* authorizer_ = nullptr;
  storage::http::EntityTags tags_;
  std::shared_ptr<const storage::Root> root_;
  std::unique_ptr<const storage::http::Protocol> protocol_;
  storage::http::PagedPlace lists_;
  std::unique_ptr<storage::webhdfs::HdfsLister> files_;  // null for a bucket
};

}  // namespace forebay::tests

#endif  // FOREBAY_TESTS_CLOUD_BUCKET_PLACE_H_

#include "tests/cloud/bucket_place.h"

#include <utility>

#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/base/status.h"
#include "server/storage/gcs/gcs_credentials.h"
#include "server/storage/gcs/gcs_listing.h"
#include "server/storage/gcs/gcs_protocol.h"
#include "server/storage/gcs/gcs_root.h"
#include "server/storage/s3/s3_credentials.h"
#include "server/storage/s3/s3_listing.h"
#include "server/storage/s3/s3_protocol.h"
#include "server/storage/s3/s3_root.h"
#include "server/storage/webhdfs/hdfs_root.h"
#include "server/storage/webhdfs/webhdfs_protocol.h"

namespace forebay::tests {

namespace gcs = storage::gcs;
namespace s3 = storage::s3;
namespace webhdfs = storage::webhdfs;

absl::StatusOr<std::unique_ptr<BucketPlace>> BucketPlace::Open(
    const std::string& endpoint, const std::string& uri,
    const BucketReader& reader, storage::http::Client* client) {
  auto place = std::make_unique<BucketPlace>();
  FOREBAY_RETURN_IF_ERROR(uri.starts_with("s3://")
                              ? place->OpenS3(endpoint, uri, reader, client)
                          : uri.starts_with("hdfs://")
                              ? place->OpenHdfs(endpoint, uri, client)
                              : place->OpenGcs(endpoint, uri, reader, client));
  return place;
}

absl::Status BucketPlace::OpenGcs(const std::string& endpoint,
                                  const std::string& uri,
                                  const BucketReader& reader,
                                  storage::http::Client* client) {
  FOREBAY_ASSIGN_OR_RETURN(auto root, gcs::GcsRoot::Create(uri, endpoint));
  if (!reader.metadata_host.empty()) {
    gcs::CredentialsEnvironment environment;
    environment.metadata_host = reader.metadata_host;
    FOREBAY_ASSIGN_OR_RETURN(
        tokens_,
        gcs::FindCredentials(environment, client, base::Clock::Wall()));
    token_ =
        std::make_unique<gcs::TokenCache>(tokens_.get(), base::Clock::Wall());
  }
  authorizer_ = token_.get();
  lists_ = gcs::ListsOf(*root, authorizer_);
  root_ = std::move(root);
  protocol_ = std::make_unique<gcs::GcsProtocol>();
  return absl::OkStatus();
}

absl::Status BucketPlace::OpenS3(const std::string& endpoint,
                                 const std::string& uri,
                                 const BucketReader& reader,
                                 storage::http::Client* client) {
  const s3::Endpoint place = {endpoint, "us-east-1"};
  FOREBAY_ASSIGN_OR_RETURN(auto root, s3::S3Root::Create(uri, place));
  if (!reader.credentials.empty()) {
    s3::S3Settings settings;
    settings.credentials = reader.credentials;
    const auto find = [settings] { return s3::FindCredentials(settings, {}); };
    credentials_ = std::make_unique<s3::CredentialsCache>(
        &client->engine(), find, place.region, base::Clock::Wall());
    FOREBAY_RETURN_IF_ERROR(credentials_->Renew());
  }
  authorizer_ = credentials_.get();
  lists_ = s3::ListsOf(*root, authorizer_, &tags_);
  root_ = std::move(root);
  protocol_ = std::make_unique<s3::S3Protocol>(&tags_);
  return absl::OkStatus();
}

absl::Status BucketPlace::OpenHdfs(const std::string& endpoint,
                                   const std::string& uri,
                                   storage::http::Client* client) {
  FOREBAY_ASSIGN_OR_RETURN(root_,
                           webhdfs::HdfsRoot::Create(uri, {endpoint, "", ""}));
  files_ = std::make_unique<webhdfs::HdfsLister>(client);
  protocol_ = std::make_unique<webhdfs::WebHdfsProtocol>();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<storage::ListedObject>> BucketPlace::List(
    storage::http::Client* client) const {
  std::vector<storage::ListedObject> objects;
  if (files_ != nullptr) {
    base::Mutex mutex;
    const auto add = [&](storage::ListedObject object) {
      base::MutexLock lock(&mutex);
      objects.push_back(std::move(object));
    };
    FOREBAY_RETURN_IF_ERROR(files_->List(*root_, add, {}));
    return objects;
  }
  FOREBAY_RETURN_IF_ERROR(storage::http::ListObjects(
      client, lists_, [&objects](storage::ListedObject object) {
        objects.push_back(std::move(object));
        return true;
      }));
  return objects;
}

}  // namespace forebay::tests

#ifndef FOREBAY_SERVER_STORAGE_S3_S3_ROOT_H_
#define FOREBAY_SERVER_STORAGE_S3_S3_ROOT_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/storage/byte_source.h"
#include "server/storage/s3/settings.h"

namespace forebay::storage::s3 {

// The objects of a bucket whose keys begin with a prefix.
//
// Thread-safe and immutable; its readers share it. Never blocks. Errors are
// those of Create and UrlOf.
class S3Root final : public Root {
 public:
  // Returns the root of "s3://bucket" or "s3://bucket/prefix". A prefix is a
  // folder: a slash follows it in objects' keys. `reader` names the credentials
  // of the reads. INVALID_ARGUMENT names the URI.
  static absl::StatusOr<std::shared_ptr<const S3Root>> Create(
      std::string_view uri, const Endpoint& endpoint,
      std::string_view reader = "");

  const std::string& uri() const override { return uri_; }
  // Returns an identity that two roots share if they are the same place and are
  // read with the same credentials. Other credentials might give no access.
  std::shared_ptr<const std::string> identity() const override {
    return identity_;
  }
  // Returns the same identity, since a URL means the same after a restart.
  std::shared_ptr<const std::string> lasting_identity() const override {
    return identity();
  }
  const std::string& bucket() const { return bucket_; }
  // Returns the origin (http::OriginOf) of the endpoint. Buckets share it, even
  // those that have a host name of their own there.
  const std::string& origin() const { return origin_; }
  // Returns the prefix of the keys of all objects below the root: "", or a
  // prefix that ends with a slash.
  const std::string& prefix() const { return prefix_; }

  // Returns the URL of an object. INVALID_ARGUMENT: no object can have that
  // name; the message is only the reason.
  absl::StatusOr<std::string> UrlOf(std::string_view object) const;
  // Returns the URL of a page of the list of objects below a folder of the
  // root. The folder is "", or a name that ends with a slash. The token ""
  // names the first page. With `one_level`, folders directly below are listed
  // by their names alone.
  std::string ListUrl(std::string_view folder, bool one_level,
                      std::string_view page_token) const;

 private:
  S3Root(std::string uri, std::string bucket, const Endpoint& endpoint,
         std::string prefix, std::string_view reader);

  const std::string uri_;
  const std::string bucket_;
  const std::string bucket_url_;
  const std::string origin_;
  const std::string prefix_;
  const std::shared_ptr<const std::string> identity_;
};

}  // namespace forebay::storage::s3

#endif  // FOREBAY_SERVER_STORAGE_S3_S3_ROOT_H_

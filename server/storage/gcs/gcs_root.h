#ifndef FOREBAY_SERVER_STORAGE_GCS_GCS_ROOT_H_
#define FOREBAY_SERVER_STORAGE_GCS_GCS_ROOT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/storage/byte_source.h"

namespace forebay::storage::gcs {

// Returns the URL of the JSON API: "https://storage.googleapis.com", or the
// value of STORAGE_EMULATOR_HOST, with or without "http://". INVALID_ARGUMENT
// if that value is not such a URL.
absl::StatusOr<std::string> EndpointFrom(const char* emulator_host);

// The objects of a bucket whose names begin with a prefix.
//
// Thread-safe and immutable; its readers share it. Never blocks. Errors are
// those of Create and of the URLs.
class GcsRoot final : public Root {
 public:
  // Returns the root of "gs://bucket" or "gs://bucket/prefix". A prefix is a
  // folder: a slash follows it in objects' names. `reader` names the
  // credentials of the reads. INVALID_ARGUMENT names the URI.
  static absl::StatusOr<std::shared_ptr<const GcsRoot>> Create(
      std::string_view uri, const std::string& endpoint,
      std::string_view reader = "");

  const std::string& uri() const override { return uri_; }
  // Returns an identity that two roots share if they are the same place and are
  // read with the same credentials. Other credentials might give no access.
  std::shared_ptr<const std::string> identity() const override {
    return identity_;
  }
  const std::string& bucket() const { return bucket_; }
  // Returns the same identity, since a URL means the same after a restart.
  std::shared_ptr<const std::string> lasting_identity() const override {
    return identity();
  }
  // Returns the origin (http::OriginOf) of the endpoint, which buckets share.
  const std::string& origin() const { return origin_; }
  // Returns the prefix of the names of all objects below the root: "", or a
  // prefix that ends with a slash.
  const std::string& prefix() const { return prefix_; }

  // Returns the URL of the bytes of one generation of an object.
  // INVALID_ARGUMENT: no object can have that name; the message is only the
  // reason.
  absl::StatusOr<std::string> MediaUrl(std::string_view object,
                                       std::int64_t generation) const;
  // Returns the URL of an object's size and generation. Errors are those of
  // MediaUrl.
  absl::StatusOr<std::string> StatUrl(std::string_view object) const;
  // Returns the URL of a page of the list of objects below a folder of the
  // root. The folder is "", or a name that ends with a slash. The token ""
  // names the first page. With `one_level`, folders directly below are listed
  // by their names alone.
  std::string ListUrl(std::string_view folder, bool one_level,
                      std::string_view page_token) const;

 private:
  GcsRoot(std::string uri, std::string bucket, std::string bucket_url,
          std::string prefix, std::string_view reader);

  // Returns the URL of an object's resource, without a query.
  absl::StatusOr<std::string> ObjectUrl(std::string_view object) const;

  const std::string uri_;
  const std::string bucket_;
  const std::string bucket_url_;
  const std::string origin_;
  const std::string prefix_;
  const std::shared_ptr<const std::string> identity_;
};

}  // namespace forebay::storage::gcs

#endif  // FOREBAY_SERVER_STORAGE_GCS_GCS_ROOT_H_

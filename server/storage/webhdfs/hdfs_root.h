#ifndef FOREBAY_SERVER_STORAGE_WEBHDFS_HDFS_ROOT_H_
#define FOREBAY_SERVER_STORAGE_WEBHDFS_HDFS_ROOT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/storage/byte_source.h"

namespace forebay::storage::webhdfs {

// The settings of HDFS, from the daemon's configuration. A setting that the
// configuration lacks comes from the daemon's environment. A setting is "" if
// it is not set.
struct WebHdfsSettings {
  std::string endpoint;  // the URL of the web server for hdfs:// URIs
  // The user's name, from the configuration or HADOOP_USER_NAME.
  std::string user;
  // The delegation token, from the configured file or HADOOP_TOKEN.
  std::string token;
};

// The folder of a cluster's file system below which a dataset lies.
//
// Thread-safe and immutable; its readers share it. Never blocks. Errors are
// those of Create and of the URLs.
class HdfsRoot final : public Root {
 public:
  // Returns the root of a URI. "hdfs://namenode/path" uses the web server that
  // is configured, or port 9870 of that host. "webhdfs://host:port/path" and
  // "swebhdfs://..." (by TLS) name the web server themselves. A token is shown
  // only to the web server that is configured. INVALID_ARGUMENT names the URI
  // and says why it cannot be a root.
  static absl::StatusOr<std::shared_ptr<const HdfsRoot>> Create(
      std::string_view uri, const WebHdfsSettings& settings);

  const std::string& uri() const override { return uri_; }
  // Returns an identity that two roots share if they are the same place and are
  // read as the same user.
  std::shared_ptr<const std::string> identity() const override {
    return identity_;
  }
  // Returns the same identity, since a URL means the same after a restart.
  std::shared_ptr<const std::string> lasting_identity() const override {
    return identity();
  }
  // Returns the origin (http::OriginOf) of the cluster's web server.
  const std::string& origin() const { return origin_; }
  // Whether the client, and not the daemon's configuration, chose the host.
  bool is_chosen_by_client() const { return is_chosen_by_client_; }

  // Return the URL of an operation on an object, or on a folder ("", or a name
  // that ends with a slash). INVALID_ARGUMENT: no object can have that name;
  // the message is only the reason.
  absl::StatusOr<std::string> StatusUrl(std::string_view object) const;
  absl::StatusOr<std::string> ChecksumUrl(std::string_view object) const;
  absl::StatusOr<std::string> OpenUrl(std::string_view object,
                                      std::uint64_t offset,
                                      std::uint64_t length) const;
  // Return the URL of a folder's list: the whole list, or the part of it after
  // `name`.
  absl::StatusOr<std::string> ListUrl(std::string_view folder) const;
  absl::StatusOr<std::string> ListUrlAfter(std::string_view folder,
                                           std::string_view name) const;

 private:
  HdfsRoot(std::string uri, std::string url, std::string user_query,
           std::string_view reader, bool is_chosen_by_client);

  // Returns the URL of an operation, with the user or the token.
  absl::StatusOr<std::string> UrlOf(std::string_view name,
                                    std::string_view operation) const;

  const std::string uri_;
  const std::string url_;  // without a slash at its end
  const std::string origin_;
  const std::string
      user_query_;  // "&user.name=..." or "&delegation=...", or ""
  const std::shared_ptr<const std::string> identity_;
  const bool is_chosen_by_client_;
};

}  // namespace forebay::storage::webhdfs

#endif  // FOREBAY_SERVER_STORAGE_WEBHDFS_HDFS_ROOT_H_

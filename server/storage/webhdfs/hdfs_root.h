#ifndef FOREBAY_SERVER_STORAGE_WEBHDFS_HDFS_ROOT_H_
#define FOREBAY_SERVER_STORAGE_WEBHDFS_HDFS_ROOT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/storage/byte_source.h"

namespace forebay::storage::webhdfs {

// The settings of HDFS: the daemon's configuration's, else its environment's;
// "" if unset.
struct Settings {
  std::string endpoint;  // the URL of hdfs://'s web server
  std::string user;      // else HADOOP_USER_NAME
  std::string token;     // of delegation, as WebHDFS gives it: HADOOP_TOKEN
};

// The folder of a cluster's file system below which a dataset lies. Thread-safe
// and immutable. Never blocks.
class HdfsRoot final : public Root {
 public:
  // "hdfs://namenode/path", whose web server is the one that is configured,
  // else port 9870 of that host; or "webhdfs://host:port/path" and
  // "swebhdfs://..." (by TLS), which name it themselves. A token is shown to
  // the web server that is configured, and to no other. INVALID_ARGUMENT names
  // the URI and says why it cannot be a root.
  static absl::StatusOr<std::shared_ptr<const HdfsRoot>> Create(
      std::string_view uri, const Settings& settings);

  const std::string& uri() const override { return uri_; }
  // Equal for equal places that are read as the same user.
  std::shared_ptr<const std::string> identity() const override {
    return identity_;
  }
  // URLs last.
  std::shared_ptr<const std::string> lasting_identity() const override {
    return identity();
  }
  // Returns the origin (http::OriginOf) of the cluster's web server.
  const std::string& origin() const { return origin_; }
  // Whether the client, and not the daemon's configuration, chose the host.
  bool is_chosen_by_client() const { return is_chosen_by_client_; }

  // Return the URL of an operation on an object, or on a folder ("", or a name
  // that ends with a slash). INVALID_ARGUMENT gives the reason only: no object
  // can have that name.
  absl::StatusOr<std::string> StatusUrl(std::string_view object) const;
  absl::StatusOr<std::string> ChecksumUrl(std::string_view object) const;
  absl::StatusOr<std::string> OpenUrl(std::string_view object,
                                      std::uint64_t offset,
                                      std::uint64_t length) const;
  // The list of a folder, all of it or the part of it after a name.
  absl::StatusOr<std::string> ListUrl(std::string_view folder) const;
  absl::StatusOr<std::string> ListUrlAfter(std::string_view folder,
                                           std::string_view name) const;

 private:
  HdfsRoot(std::string uri, std::string url, std::string user_query,
           std::string_view reader, bool is_chosen_by_client);

  absl::StatusOr<std::string> UrlOf(std::string_view name,
                                    std::string_view operation) const;

  const std::string uri_;
  const std::string url_;  // without a slash at its end
  const std::string origin_;
  const std::string user_query_;  // "&user.name=...", or ""
  const std::shared_ptr<const std::string> identity_;
  const bool is_chosen_by_client_;
};

}  // namespace forebay::storage::webhdfs

#endif  // FOREBAY_SERVER_STORAGE_WEBHDFS_HDFS_ROOT_H_

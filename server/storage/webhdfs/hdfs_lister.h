#ifndef FOREBAY_SERVER_STORAGE_WEBHDFS_HDFS_LISTER_H_
#define FOREBAY_SERVER_STORAGE_WEBHDFS_HDFS_LISTER_H_

#include <functional>
#include <stop_token>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/storage/http/client.h"
#include "server/storage/object_lister.h"

namespace forebay::storage::webhdfs {

// Lists files below HdfsRoots, as their cluster has them: no links. Lists the
// folders right below a root side by side, on threads that end before List
// returns, and the files of one in the order of their names. A folder's list
// comes in parts, where the server can. Asks for the checksum of each file that
// the server tells no number of, as long as it tells any: it is then a part of
// the version.
//
// `client` must outlive it. Errors as ObjectLister says.
class HdfsLister final : public ObjectLister {
 public:
  explicit HdfsLister(http::Client* client) : client_(client) {}

  absl::Status List(const Root& root,
                    const std::function<void(ListedObject)>& each,
                    const std::stop_token& stop) override;
  absl::StatusOr<ObjectVersion> Stat(const Root& root, std::string_view object,
                                     const std::stop_token& stop) override;

 private:
  http::Client* const client_;
};

}  // namespace forebay::storage::webhdfs

#endif  // FOREBAY_SERVER_STORAGE_WEBHDFS_HDFS_LISTER_H_

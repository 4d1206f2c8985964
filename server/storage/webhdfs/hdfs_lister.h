#ifndef FOREBAY_SERVER_STORAGE_WEBHDFS_HDFS_LISTER_H_
#define FOREBAY_SERVER_STORAGE_WEBHDFS_HDFS_LISTER_H_

#include <functional>
#include <stop_token>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/storage/http/client.h"
#include "server/storage/object_lister.h"

namespace forebay::storage::webhdfs {

// Lists files below HdfsRoots. Leaves out what is neither file nor folder, such
// as links. The folders directly below a root are listed in parallel, on
// threads that end before List returns. The files of one folder come in the
// order of their names. A folder's list comes in parts, if the server can send
// parts.
//
// If the server tells no number of a file, the lister asks for its checksum.
// The checksum becomes a part of the version. A server that knows no
// checksums is not asked again.
//
// Thread-safe. `client` outlives it. Calls block, as ObjectLister says. Errors
// are those of ObjectLister.
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

#ifndef FOREBAY_TESTS_UNIT_SERVER_STORAGE_WEBHDFS_HDFS_SERVER_H_
#define FOREBAY_TESTS_UNIT_SERVER_STORAGE_WEBHDFS_HDFS_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/storage/byte_source.h"
#include "tests/unit/server/storage/http/fault_choice.h"
#include "tests/unit/server/storage/http/faults.h"
#include "tests/unit/server/storage/http/http_server.h"
#include "tests/unit/server/storage/http/request_target.h"

namespace forebay::storage::webhdfs {

// A name node and a data node of HDFS, in memory, with the documented interface
// ("WebHDFS REST API"). Lists come in parts or whole. The name node redirects
// reads and checksums to the data node. A real cluster is not a library, and
// needs gigabytes. Thread-safe; a test sets its faults.
class HdfsServer {
 public:
  using Asked = http::HttpServer::Asked;

  explicit HdfsServer(std::size_t part_size = 1000);

  // Returns the URL of the name node.
  const std::string& url() const { return name_node_.url(); }
  // Returns the name node's "host:port".
  std::string authority() const { return url().substr(7); }
  // Stores a file, whose `path` begins with a slash. Returns the file's version
  // as in lists.
  ObjectVersion Put(const std::string& path, std::string content);
  void Remove(const std::string& path);
  // From now on, requests must have this token; "" means that they need none.
  void SetToken(const std::string& token);
  // From now on, lists come whole, as from old servers.
  void ForgetParts();
  // From now on, statuses lack the files' numbers, and all files have the same
  // modification time, as at some gateways. If `has_checksums`, there are still
  // checksums.
  void ForgetNumbers(bool has_checksums);
  // From now on, the name node redirects to `url` instead of to the data node.
  void LeadTo(const std::string& url);
  // From now on, the name node redirects to itself, by the host name in the
  // request. It is then also the data node, as a gateway is.
  void BeGateway();
  // From now on, answers all requests with `reply`. A status of 0 means good
  // answers.
  void SetAnswer(const http::Reply& reply);
  // While the returned scope lives, spoils the answers of both nodes.
  http::FaultChoice::Scope SetFaults(http::FaultChoice::Choose choose) {
    return faults_.Set(std::move(choose));
  }
  int asked() const;
  // Returns the latest request to the data node, with its query.
  http::RequestTarget last_read() const;

 private:
  struct File {
    std::string content;
    std::int64_t number = 0;
    std::int64_t modified = 0;
  };

  void HandleName(const Asked& asked, http::HttpServer::Peer& peer);
  void HandleData(const Asked& asked, http::HttpServer::Peer& peer);
  http::Reply ReplyOfName(const http::RequestTarget& target, const Asked& asked)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  http::Reply Tell(const std::string& path) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  http::Reply List(const http::RequestTarget& target,
                   const std::string& path) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  nlohmann::json StatusOf(const std::string& name, const File& file) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  http::Reply ReplyOfData(const http::RequestTarget& target) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::size_t part_size_;
  http::FaultChoice faults_;
  mutable base::Mutex mutex_;
  std::map<std::string, File> files_ ABSL_GUARDED_BY(mutex_);
  std::string token_ ABSL_GUARDED_BY(mutex_);
  bool has_parts_ ABSL_GUARDED_BY(mutex_) = true;
  bool has_numbers_ ABSL_GUARDED_BY(mutex_) = true;
  bool has_checksums_ ABSL_GUARDED_BY(mutex_) = true;
  std::string leads_to_ ABSL_GUARDED_BY(mutex_);
  bool is_gateway_ ABSL_GUARDED_BY(mutex_) = false;
  http::Reply answer_ ABSL_GUARDED_BY(mutex_) = {0, "", ""};
  http::RequestTarget last_read_ ABSL_GUARDED_BY(mutex_);
  std::int64_t last_number_ ABSL_GUARDED_BY(mutex_) = 16'384;
  int asked_ ABSL_GUARDED_BY(mutex_) = 0;
  http::HttpServer data_node_;
  http::HttpServer name_node_;
};

// Returns the body of an error.
std::string ExceptionJson(const std::string& name, const std::string& message);

}  // namespace forebay::storage::webhdfs

#endif  // FOREBAY_TESTS_UNIT_SERVER_STORAGE_WEBHDFS_HDFS_SERVER_H_

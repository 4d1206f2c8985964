#ifndef FOREBAY_SERVER_DAEMON_HDFS_READS_H_
#define FOREBAY_SERVER_DAEMON_HDFS_READS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "server/storage/byte_source.h"
#include "server/storage/domain_source.h"
#include "server/storage/http/client.h"
#include "server/storage/webhdfs/hdfs_lister.h"
#include "server/storage/webhdfs/webhdfs_protocol.h"

namespace forebay::daemon {

// The settings of HDFS: the configuration's, else the environment's.
struct HdfsSetup {
  std::string endpoint;
  std::string user;
  std::string token_file;
  std::string token;  // if there is no file

  static HdfsSetup OfProcess(const proto::HdfsConfig& config);
};

// The parts that read HDFS by WebHDFS.
//
// Thread-safe. `client` outlives it; its roots may outlive it. Destruction ends
// the reads that are under way. Open blocks for file I/O.
class HdfsReads {
 public:
  HdfsReads(HdfsSetup setup, storage::http::Client* client);

  // Reads the token's file once more, and returns a root. Errors: those of
  // HdfsRoot::Create, and of the file.
  absl::StatusOr<std::shared_ptr<const storage::Root>> Open(
      const std::string& uri) const;

  storage::DomainSource* source() { return &source_; }
  const storage::DomainSource& source() const { return source_; }
  storage::webhdfs::HdfsLister* lister() { return &lister_; }

 private:
  const HdfsSetup setup_;
  const storage::webhdfs::WebHdfsProtocol protocol_;
  storage::webhdfs::HdfsLister lister_;
  storage::DomainSource source_;
};

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_HDFS_READS_H_

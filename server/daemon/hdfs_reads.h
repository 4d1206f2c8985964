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

// The settings of HDFS. A key of the configuration takes precedence over the
// environment (HADOOP_USER_NAME, HADOOP_TOKEN).
struct HdfsSetup {
  std::string endpoint;    // a URL; empty if a dataset's URI names the host
  std::string user;        // empty if none is sent
  std::string token_file;  // a path; empty if there is none
  std::string token;       // a delegation token, used if there is no file

  // Returns the settings of this process.
  static HdfsSetup OfProcess(const proto::HdfsConfig& config);
};

// The parts that read HDFS by its HTTP protocol, WebHDFS.
//
// Thread-safe. RemoteReads owns it. `client` outlives this object; roots may
// live longer than it. Destruction ends the reads that are under way. Only Open
// has errors; it blocks for file I/O.
class HdfsReads {
 public:
  HdfsReads(HdfsSetup setup, storage::http::Client* client);

  // Returns the root that `uri` names. Reads the token's file each time,
  // because tokens expire and are replaced. Errors are those of
  // HdfsRoot::Create and of reading the file.
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

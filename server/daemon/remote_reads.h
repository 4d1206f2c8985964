#ifndef FOREBAY_SERVER_DAEMON_REMOTE_READS_H_
#define FOREBAY_SERVER_DAEMON_REMOTE_READS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/daemon/hdfs_reads.h"
#include "server/daemon/s3_reads.h"
#include "server/storage/all_job_shares.h"
#include "server/storage/domain_source.h"
#include "server/storage/gcs/credentials.h"
#include "server/storage/gcs/gcs_lister.h"
#include "server/storage/gcs/gcs_protocol.h"
#include "server/storage/gcs/kept_token.h"
#include "server/storage/gcs/token_source.h"
#include "server/storage/http/client.h"
#include "server/storage/http/engine.h"
#include "server/storage/http/http_lister.h"
#include "server/storage/http/http_protocol.h"
#include "server/storage/http/ledger.h"
#include "server/storage/object_lister.h"
#include "server/storage/root_opener.h"
#include "server/storage/routed_source.h"

namespace forebay::daemon {

// The settings for remote storage: the environment's and the configuration's.
struct RemoteEnvironment {
  std::string emulator_host;  // STORAGE_EMULATOR_HOST; "": Google's own server
  storage::gcs::CredentialsEnvironment credentials;
  S3Setup s3;
  HdfsSetup hdfs;

  // An emulator is shown only credentials that were named for it: those of
  // GOOGLE_APPLICATION_CREDENTIALS or GCE_METADATA_HOST.
  static RemoteEnvironment OfProcess(const proto::Config& config = {});
};

// Datasets on other hosts: buckets of Google Cloud Storage (gs://) and of S3
// (s3://), and HDFS (hdfs://, webhdfs://, swebhdfs://), read with the daemon's
// own credentials, and web servers (http://, https://), which get none. Each
// host has a queue and limits of its own, so that none holds up reads of
// another. The first root of a kind starts what it takes (a thread,
// connections, a look for credentials) and adds its route. If there are no
// credentials, the daemon looks again later: a host may start it before it has
// any.
//
// Thread-safe. `routes`, `shares` and `clock` outlive it. Destruction, when no
// call is under way, ends the reads that are. Open blocks for a few seconds
// where it asks a metadata server, and for file I/O; if another call looks for
// the same credentials, for 13 s at most. List and Stat block as ObjectLister
// says. Errors: those of RootOpener and
// ObjectLister.
class RemoteReads final : public storage::RootOpener,
                          public storage::ObjectLister {
 public:
  RemoteReads(RemoteEnvironment environment, storage::RoutedSource* routes,
              storage::AllJobShares* shares,
              const base::Clock* clock = base::Clock::Monotonic());
  ~RemoteReads() override;

  absl::StatusOr<std::shared_ptr<const storage::Root>> Open(
      const std::string& uri, const std::stop_token& stop) override;

  absl::Status List(const storage::Root& root,
                    const std::function<void(storage::ListedObject)>& each,
                    const std::stop_token& stop) override;
  absl::StatusOr<storage::ObjectVersion> Stat(
      const storage::Root& root, std::string_view object,
      const std::stop_token& stop) override;

  // Ends the sources of hosts that nobody reads from any more.
  void ReleaseIdle();

  // The requests made so far, by job.
  std::vector<storage::http::JobRequests> requests() const;
  // The sources that are open, by name.
  std::vector<std::pair<std::string, storage::SourceState>> States() const;
  // The credentials that buckets are read with, for people; "": none was opened
  // yet.
  std::string credentials() const;

 private:
  // The parts that read buckets. Later ones need earlier ones, and are
  // destroyed first.
  struct Buckets {
    std::string credentials_name;
    std::unique_ptr<storage::gcs::TokenSource> credentials;  // null: none
    std::unique_ptr<storage::gcs::KeptToken> token;
    std::unique_ptr<storage::gcs::GcsLister> lister;
    std::unique_ptr<storage::DomainSource> source;
  };

  absl::Status PrepareGcs(const std::stop_token& stop);
  // Waits while another thread looks for credentials of Cloud Storage.
  absl::Status AwaitLookLocked(const std::stop_token& stop)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes the parts that read buckets of Cloud Storage by these credentials.
  std::unique_ptr<Buckets> BucketsFor(
      std::unique_ptr<storage::gcs::TokenSource> credentials,
      storage::http::Client* client) const;
  // Names the credentials that buckets of Cloud Storage are read with.
  std::string GcsReader() const;
  absl::Status PrepareHttp();
  absl::StatusOr<S3Reads*> PrepareS3();
  absl::StatusOr<std::shared_ptr<const storage::Root>> OpenS3(
      const std::string& uri);
  absl::StatusOr<std::shared_ptr<const storage::Root>> OpenHdfs(
      const std::string& uri);
  absl::StatusOr<storage::http::Client*> ClientLocked()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<storage::ObjectLister*> ListerOf(
      const storage::Root& root) const;

  const RemoteEnvironment environment_;
  storage::RoutedSource* const routes_;
  storage::AllJobShares* const shares_;
  const base::Clock* const clock_;
  const storage::gcs::GcsProtocol gcs_protocol_;
  const storage::http::HttpProtocol http_protocol_;

  mutable base::Mutex mutex_;
  base::CondVar changed_;
  // Whether a thread looks for credentials with the mutex released.
  bool looking_ ABSL_GUARDED_BY(mutex_) = false;
  std::int64_t look_again_nanos_ ABSL_GUARDED_BY(mutex_) = 0;
  // Later ones need earlier ones, and are destroyed first.
  std::unique_ptr<storage::http::Engine> engine_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<storage::http::Client> client_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<storage::http::HttpLister> http_lister_
      ABSL_GUARDED_BY(mutex_);
  // The last one is used. One without credentials may be before it; its reads
  // end by themselves.
  std::vector<std::unique_ptr<Buckets>> buckets_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<storage::DomainSource> http_source_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<S3Reads> s3_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<HdfsReads> hdfs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_REMOTE_READS_H_

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
#include "server/storage/gcs/gcs_credentials.h"
#include "server/storage/gcs/gcs_lister.h"
#include "server/storage/gcs/gcs_protocol.h"
#include "server/storage/gcs/token_cache.h"
#include "server/storage/gcs/token_source.h"
#include "server/storage/http/client.h"
#include "server/storage/http/engine.h"
#include "server/storage/http/http_lister.h"
#include "server/storage/http/http_protocol.h"
#include "server/storage/http/request_ledger.h"
#include "server/storage/object_lister.h"
#include "server/storage/root_opener.h"
#include "server/storage/routed_source.h"

namespace forebay::daemon {

// The settings for remote storage, from the environment and the configuration.
struct RemoteEnvironment {
  std::string emulator_host;  // STORAGE_EMULATOR_HOST; "" for Google's server
  storage::gcs::CredentialsEnvironment credentials;
  S3Setup s3;
  HdfsSetup hdfs;

  // Reads the settings of this process. An emulator gets only credentials that
  // GOOGLE_APPLICATION_CREDENTIALS or GCE_METADATA_HOST names, never those in
  // gcloud's files or of the host.
  static RemoteEnvironment OfProcess(const proto::Config& config = {});
};

// Reads datasets on other hosts. Buckets of Google Cloud Storage (gs://) and S3
// (s3://), and files of HDFS (hdfs://, webhdfs://, swebhdfs://), are read with
// the daemon's own credentials. Web servers (http://, https://) get none. Each
// host has a queue and limits of its own, so that no host delays reads from
// another host.
//
// The first root of a kind starts what the kind needs (a thread, connections, a
// search for credentials) and adds its route. If no credentials are found, the
// daemon searches again later, because it may start before its host has
// credentials.
//
// Thread-safe. The daemon owns it. `routes`, `shares` and `clock` outlive it.
// No call may be under way at destruction. Destruction ends the reads under
// way. Open blocks for file I/O, and for a few seconds while it asks a metadata
// server. If another call is searching for the same credentials, Open waits for
// that search for at most 13 s. List and Stat block as ObjectLister says.
// Errors are those of RootOpener and ObjectLister.
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

  // Returns the requests made so far, by job.
  std::vector<storage::http::JobRequests> requests() const;
  // Returns the sources that are open, and their names: "buckets" (Cloud
  // Storage), "web", "s3" and "hdfs".
  std::vector<std::pair<std::string, storage::SourceState>> States() const;
  // Returns the names of the credentials that buckets are read with; "" if no
  // bucket was opened yet.
  std::string credentials() const;

 private:
  // The parts that read buckets of Cloud Storage with one set of credentials.
  // Later members use earlier ones, and are destroyed first.
  struct Buckets {
    std::string credentials_name;
    std::unique_ptr<storage::gcs::TokenSource> credentials;  // null if none
    std::unique_ptr<storage::gcs::TokenCache> token;
    std::unique_ptr<storage::gcs::GcsLister> lister;
    std::unique_ptr<storage::DomainSource> source;
  };

  // Searches for credentials of Cloud Storage and makes the parts that use
  // them. Does nothing if credentials were found already, or were searched for
  // in the last minute.
  absl::Status PrepareGcs(const std::stop_token& stop);
  // Waits while another thread searches for credentials of Cloud Storage.
  // CANCELLED: `stop` was requested. UNAVAILABLE: the search takes too long.
  absl::Status AwaitLookLocked(const std::stop_token& stop)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the parts that read buckets of Cloud Storage with `credentials`.
  std::unique_ptr<Buckets> BucketsFor(
      std::unique_ptr<storage::gcs::TokenSource> credentials,
      storage::http::Client* client) const;
  // Returns the name of the credentials that buckets of Cloud Storage are read
  // with.
  std::string GcsReader() const;
  // Makes the parts that read web servers, unless that was done.
  absl::Status PrepareHttp();
  // Makes the parts that read S3, unless that was done. Returns them.
  absl::StatusOr<S3Reads*> PrepareS3();
  absl::StatusOr<std::shared_ptr<const storage::Root>> OpenS3(
      const std::string& uri);
  absl::StatusOr<std::shared_ptr<const storage::Root>> OpenHdfs(
      const std::string& uri);
  // Returns the HTTP client that all kinds share. The first call starts its
  // thread.
  absl::StatusOr<storage::http::Client*> ClientLocked()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the lister for roots of this kind. INVALID_ARGUMENT: no root of the
  // kind was opened.
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
  // Whether a thread searches for credentials, with the mutex released.
  bool looking_ ABSL_GUARDED_BY(mutex_) = false;
  std::int64_t recheck_at_nanos_ ABSL_GUARDED_BY(mutex_) = 0;
  // Later members use earlier ones, and are destroyed first.
  std::unique_ptr<storage::http::Engine> engine_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<storage::http::Client> client_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<storage::http::HttpLister> http_lister_
      ABSL_GUARDED_BY(mutex_);
  // New reads use the last element. Earlier elements have no credentials,
  // because none had been found when they were made. These elements are kept
  // for the reads that they began.
  std::vector<std::unique_ptr<Buckets>> buckets_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<storage::DomainSource> http_source_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<S3Reads> s3_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<HdfsReads> hdfs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_REMOTE_READS_H_

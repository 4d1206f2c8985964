#ifndef FOREBAY_TOOLS_FOREBAYCTL_ADMIN_CLIENT_H_
#define FOREBAY_TOOLS_FOREBAYCTL_ADMIN_CLIENT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/admin.pb.h"

namespace forebay::ctl {

// A batch that the daemon sent and that CheckBatch has accepted.
struct PeekedBatch {
  proto::PeekChunk layout;  // its `data` is empty
  std::string data;
};

// A connection to a daemon. Not thread-safe. The caller owns it. Calls block
// for at most ten seconds each, and Peek for a minute. Calls return the
// daemon's errors (admin.proto), and UNAVAILABLE if the daemon has gone.
class AdminClient {
 public:
  virtual ~AdminClient() = default;

  // Connects to admin.sock in `runtime_dir`, a directory that passes
  // CheckOwner. UNAVAILABLE: no daemon listens there. PERMISSION_DENIED: the
  // directory or the daemon is neither this user's nor root's.
  static absl::StatusOr<std::unique_ptr<AdminClient>> Connect(
      const std::string& runtime_dir);

  // Each method makes one call of admin.proto. Peek returns the whole batch,
  // after CheckBatch.
  virtual absl::StatusOr<proto::DaemonStatus> GetStatus() = 0;
  virtual absl::StatusOr<proto::JobList> ListJobs() = 0;
  virtual absl::StatusOr<proto::CacheStatus> GetCache() = 0;
  virtual absl::StatusOr<PeekedBatch> Peek(const std::string& job,
                                           const std::string& loader) = 0;
  virtual absl::Status SetJob(const proto::SetJobRequest& request) = 0;
};

// Returns whether a call failed because no daemon runs in its directory.
bool IsNoDaemon(const absl::Status& status);

// Returns INTERNAL unless every field's type, shape and place fit `batch.data`.
absl::Status CheckBatch(const PeekedBatch& batch);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_ADMIN_CLIENT_H_

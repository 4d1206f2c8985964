#ifndef FOREBAY_TOOLS_FOREBAYCTL_ADMIN_CLIENT_H_
#define FOREBAY_TOOLS_FOREBAYCTL_ADMIN_CLIENT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/admin.pb.h"

namespace forebay::ctl {

// A batch from the daemon, checked: each field's shape, type and place in
// `data` agree.
struct PeekedBatch {
  proto::PeekChunk layout;  // its `data` is empty
  std::string data;
};

// A connection to a daemon. Not thread-safe. The caller owns it. Calls block,
// for at most ten seconds each (Peek: a minute). Errors: the daemon's own, or
// UNAVAILABLE if there is none.
class AdminClient {
 public:
  virtual ~AdminClient() = default;

  // Connects to RUNTIME_DIR/admin.sock, whose directory must be trustworthy
  // (CheckOwner). UNAVAILABLE: no daemon is there; PERMISSION_DENIED: it is
  // neither this user's nor root's.
  static absl::StatusOr<std::unique_ptr<AdminClient>> Connect(
      const std::string& runtime_dir);

  virtual absl::StatusOr<proto::DaemonStatus> GetStatus() = 0;
  virtual absl::StatusOr<proto::JobList> ListJobs() = 0;
  virtual absl::StatusOr<proto::CacheStatus> GetCache() = 0;
  virtual absl::StatusOr<PeekedBatch> Peek(const std::string& job,
                                           const std::string& loader) = 0;
  virtual absl::Status SetJob(const proto::SetJobRequest& request) = 0;
};

// Whether a call failed because no daemon runs in the directory.
bool IsNoDaemon(const absl::Status& status);

// INTERNAL unless every field's type, shape and place fit `batch.data`.
absl::Status CheckBatch(const PeekedBatch& batch);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_ADMIN_CLIENT_H_

#ifndef FOREBAY_SERVER_ADMIN_JOB_LIST_H_
#define FOREBAY_SERVER_ADMIN_JOB_LIST_H_

#include <cstdint>
#include <vector>

#include "proto/admin.pb.h"
#include "server/admin/daemon_info.h"
#include "server/cache/cache_snapshot.h"
#include "server/job/control.h"
#include "server/job/job_snapshot.h"

namespace forebay::admin {

// These functions translate the snapshots of jobs, the cache and the daemon
// into messages of admin.proto, and requests into changes. Text becomes valid
// UTF-8. If a job has no cap, the cap is 0 in messages, and infinity in
// snapshots and changes. `now_nanos` is a time of the monotonic clock. All are
// thread-safe, never block and have no errors.

// Returns all jobs and their loaders.
proto::JobList ToProto(const std::vector<job::JobSnapshot>& jobs,
                       const cache::CacheSnapshot& cache,
                       const std::vector<RemoteRequestsInfo>& requests = {},
                       std::int64_t now_nanos = 0);
// Returns the state of the daemon.
proto::DaemonStatus ToProto(const DaemonInfo& info,
                            const std::vector<job::JobSnapshot>& jobs,
                            std::int64_t now_nanos = 0);

// Returns the change that a request asks for, unchecked.
job::JobChange FromProto(const proto::SetJobRequest& request);

}  // namespace forebay::admin

#endif  // FOREBAY_SERVER_ADMIN_JOB_LIST_H_

#ifndef FOREBAY_SERVER_ADMIN_JOB_LIST_H_
#define FOREBAY_SERVER_ADMIN_JOB_LIST_H_

#include <cstdint>
#include <vector>

#include "proto/admin.pb.h"
#include "server/admin/daemon_info.h"
#include "server/cache/snapshot.h"
#include "server/job/control.h"
#include "server/job/snapshot.h"

namespace forebay::admin {

// Translate the rooms' snapshots into the messages of admin.proto, and requests
// back. Text is made valid UTF-8, and no cap is 0. `now_nanos`: monotonic.
// Thread-safe; nothing blocks or fails.
proto::JobList ToProto(const std::vector<job::JobSnapshot>& jobs,
                       const cache::Snapshot& cache,
                       const std::vector<RemoteRequestsInfo>& requests = {},
                       std::int64_t now_nanos = 0);
proto::DaemonStatus ToProto(const DaemonInfo& info,
                            const std::vector<job::JobSnapshot>& jobs,
                            std::int64_t now_nanos = 0);

job::JobChange FromProto(const proto::SetJobRequest& request);

}  // namespace forebay::admin

#endif  // FOREBAY_SERVER_ADMIN_JOB_LIST_H_

#ifndef FOREBAY_SERVER_ADMIN_CACHE_STATUS_H_
#define FOREBAY_SERVER_ADMIN_CACHE_STATUS_H_

#include <cstdint>
#include <vector>

#include "proto/admin.pb.h"
#include "server/cache/disk/snapshot.h"
#include "server/cache/snapshot.h"
#include "server/job/snapshot.h"

namespace forebay::admin {

// Translate the cache's snapshots into the messages of admin.proto.
// Thread-safe; nothing blocks or fails.

// Jobs that have read nothing yet get zeros.
proto::CacheStatus ToProto(const cache::Snapshot& snapshot,
                           const std::vector<job::JobSnapshot>& jobs);
proto::DiskTierStatus ToProto(const cache::disk::Snapshot& snapshot);
proto::ReadTraffic TrafficOf(const cache::Snapshot& snapshot,
                             const job::JobSnapshot& job);

}  // namespace forebay::admin

#endif  // FOREBAY_SERVER_ADMIN_CACHE_STATUS_H_

#ifndef FOREBAY_SERVER_ADMIN_CACHE_STATUS_H_
#define FOREBAY_SERVER_ADMIN_CACHE_STATUS_H_

#include <cstdint>
#include <vector>

#include "proto/admin.pb.h"
#include "server/cache/cache_snapshot.h"
#include "server/cache/disk/disk_snapshot.h"
#include "server/job/job_snapshot.h"

namespace forebay::admin {

// These functions translate the cache's snapshots into messages of admin.proto.
// They are thread-safe, never block and have no errors.

// Returns the state of the cache, with the traffic of each of `jobs`. Jobs that
// have read nothing yet get zeros.
proto::CacheStatus ToProto(const cache::CacheSnapshot& snapshot,
                           const std::vector<job::JobSnapshot>& jobs);
proto::DiskTierStatus ToProto(const cache::disk::DiskSnapshot& snapshot);
// Returns what one job has read, by the tier that served it.
proto::ReadTraffic TrafficOf(const cache::CacheSnapshot& snapshot,
                             const job::JobSnapshot& job);

}  // namespace forebay::admin

#endif  // FOREBAY_SERVER_ADMIN_CACHE_STATUS_H_

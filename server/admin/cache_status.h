#ifndef FOREBAY_SERVER_ADMIN_CACHE_STATUS_H_
#define FOREBAY_SERVER_ADMIN_CACHE_STATUS_H_

#include <cstdint>
#include <vector>

#include "proto/admin.pb.h"
#include "server/cache/disk/snapshot.h"
#include "server/cache/snapshot.h"
#include "server/job/snapshot.h"

namespace forebay::admin {

// Translations of what the cache says into the messages of admin.proto.
// Thread-safe; nothing blocks or fails.

// What the cache counted of each job in `jobs`; of one that has read nothing
// yet, zeros.
proto::CacheStatus ToProto(const cache::Snapshot& snapshot,
                           const std::vector<job::JobSnapshot>& jobs);
proto::DiskTierStatus ToProto(const cache::disk::Snapshot& snapshot);
proto::ReadTraffic TrafficOf(const cache::Snapshot& snapshot,
                             const job::JobSnapshot& job);

}  // namespace forebay::admin

#endif  // FOREBAY_SERVER_ADMIN_CACHE_STATUS_H_

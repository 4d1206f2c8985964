#ifndef FOREBAY_SERVER_ADMIN_SUBJECTS_H_
#define FOREBAY_SERVER_ADMIN_SUBJECTS_H_

#include <functional>
#include <optional>

#include "server/admin/daemon_info.h"
#include "server/base/clock.h"
#include "server/cache/cache_snapshot.h"
#include "server/cache/disk/disk_snapshot.h"
#include "server/job/control.h"
#include "server/job/job_snapshot.h"

namespace forebay::admin {

// Returns the state of the cache. The service calls it from any thread, at most
// a few times a second. The function must not block for I/O.
using CacheInfoSource = std::function<cache::CacheSnapshot()>;
// Returns the state of the cache's tier on disk; nullopt if there is none.
using DiskTierInfoSource =
    std::function<std::optional<cache::disk::DiskSnapshot>()>;

// The parts of the daemon that the service reports and changes. No member is
// null. The service owns none of them, and they outlive it.
struct Subjects {
  const job::Introspection* jobs = nullptr;
  job::Control* control = nullptr;
  DaemonInfoSource daemon;
  CacheInfoSource cache;
  DiskTierInfoSource disk_tier;
  const base::Clock* clock = nullptr;
};

}  // namespace forebay::admin

#endif  // FOREBAY_SERVER_ADMIN_SUBJECTS_H_

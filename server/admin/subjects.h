#ifndef FOREBAY_SERVER_ADMIN_SUBJECTS_H_
#define FOREBAY_SERVER_ADMIN_SUBJECTS_H_

#include <functional>
#include <optional>

#include "server/admin/daemon_info.h"
#include "server/base/clock.h"
#include "server/cache/disk/snapshot.h"
#include "server/cache/snapshot.h"
#include "server/job/control.h"
#include "server/job/snapshot.h"

namespace forebay::admin {

// Called from any thread, at most a few times a second; must not block for I/O.
using CacheInfoSource = std::function<cache::Snapshot()>;
// Returns nullopt if there is no such tier.
using DiskTierInfoSource =
    std::function<std::optional<cache::disk::Snapshot>()>;

// The parts that the service reports and changes. None is null; all belong to
// others and outlive it.
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

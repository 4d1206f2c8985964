#ifndef FOREBAY_SERVER_STORAGE_LOCAL_PAGE_CACHE_USE_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_PAGE_CACHE_USE_H_

#include <cstdint>
#include <functional>
#include <unordered_map>

#include "server/storage/byte_source.h"
#include "server/storage/local/page_cache_hit_rate.h"
#include "server/storage/local/working_set_estimate.h"

namespace forebay::storage::local {

// Decides which reads go through the page cache. While the cache has room for
// all bytes that are read, all reads go through it: the next epoch then finds
// the bytes there. A larger working set would only evict itself and all other
// files. Reads then go past the cache, unless the cache turns out to hold some
// of the working set.
//
// Not thread-safe. The ring's source owns it. Blocks only while it calls
// `room`, now and then. No errors.
class PageCacheUse {
 public:
  // `room` returns how many bytes of files the page cache can hold.
  explicit PageCacheUse(std::function<std::uint64_t()> room)
      : room_(std::move(room)) {}

  // Notes a read that comes next. Returns whether the read goes through the
  // cache.
  bool Wants(const ReadRequest& request);
  // Notes whether a read of `job` through the cache found all of its bytes
  // there.
  void Saw(std::uint64_t job, bool held);
  // Forgets a job that has ended: the working set of the other jobs is
  // estimated anew.
  void Forget(std::uint64_t job);

 private:
  // The number of reads from one call of `room_` to the next.
  static constexpr std::uint32_t kReadsALook = 1024;

  const std::function<std::uint64_t()> room_;
  // The working set of all jobs.
  WorkingSetEstimate working_set_;
  bool fits_ = true;
  std::uint32_t reads_ = 0;
  // The hit rates by job.
  std::unordered_map<std::uint64_t, PageCacheHitRate> page_cache_hit_rate_;
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_PAGE_CACHE_USE_H_

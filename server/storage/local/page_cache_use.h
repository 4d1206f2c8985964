#ifndef FOREBAY_SERVER_STORAGE_LOCAL_PAGE_CACHE_USE_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_PAGE_CACHE_USE_H_

#include <cstdint>
#include <functional>
#include <unordered_map>

#include "server/storage/byte_source.h"
#include "server/storage/local/page_cache_hit_rate.h"
#include "server/storage/local/working_set_estimate.h"

namespace forebay::storage::local {

// Decides which reads go through the page cache. As long as it has room for all
// that is read, all of them: the next epoch then finds it there. What does not
// fit would only push itself out, and everybody else's files with it: that is
// read past the cache, but where the cache turns out to hold some of it.
//
// Not thread-safe; owns nothing of the reads. `room` is asked now and then; the
// rest never blocks. No errors.
class PageCacheUse {
 public:
  // `room` tells how many bytes of files the page cache can hold.
  explicit PageCacheUse(std::function<std::uint64_t()> room)
      : room_(std::move(room)) {}

  // Takes notice of a read that is to come: whether it goes through the cache.
  bool Wants(const ReadRequest& request);
  // A read of `job` through the cache found all of its bytes there, or not.
  void Saw(std::uint64_t job, bool held);
  // A job has ended: what others still read is learnt again.
  void Forget(std::uint64_t job);

 private:
  // Reads from one look at the room to the next.
  static constexpr std::uint32_t kReadsALook = 1024;

  const std::function<std::uint64_t()> room_;
  WorkingSetEstimate working_set_;  // of all jobs
  bool fits_ = true;
  std::uint32_t reads_ = 0;
  std::unordered_map<std::uint64_t, PageCacheHitRate>
      page_cache_hit_rate_;  // by job
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_PAGE_CACHE_USE_H_

#ifndef FOREBAY_SERVER_STORAGE_LOCAL_HUNG_READS_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_HUNG_READS_H_

#include <cstdint>
#include <unordered_map>

#include "server/storage/byte_source.h"

namespace forebay::storage::local {

// Counts the reads that hang, for each job that wants them.
//
// Not thread-safe: the caller holds its lock. The caller owns it. Never blocks;
// no errors.
class HungReads {
 public:
  // Lets each job have at most `most_of_job` reads that hang.
  explicit HungReads(int most_of_job) : most_of_job_(most_of_job) {}

  // Whether at least one job that wants the read may have one more read that
  // hangs.
  bool MayBegin(const ReadPurpose& purpose) const {
    for (const std::uint64_t job : PayersOf(purpose)) {
      const auto found = by_job_.find(job);
      const int hung = found == by_job_.end() ? 0 : found->second;
      if (hung < most_of_job_) return true;
    }
    return false;
  }

  // Counts a read that begins to hang.
  void Add(const ReadPurpose& purpose) {
    for (const std::uint64_t job : PayersOf(purpose)) ++by_job_[job];
  }
  // Takes a read off the counts. `purpose` has the same jobs as in the call of
  // Add.
  void Remove(const ReadPurpose& purpose) {
    for (const std::uint64_t job : PayersOf(purpose)) {
      const auto found = by_job_.find(job);
      if (--found->second == 0) by_job_.erase(found);
    }
  }

 private:
  const int most_of_job_;
  std::unordered_map<std::uint64_t, int> by_job_;
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_HUNG_READS_H_

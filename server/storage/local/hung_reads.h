#ifndef FOREBAY_SERVER_STORAGE_LOCAL_HUNG_READS_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_HUNG_READS_H_

#include <cstdint>
#include <unordered_map>

#include "server/storage/byte_source.h"

namespace forebay::storage::local {

// Counts the reads that hang, for each job that wants them.
//
// Pure. Not thread-safe: the caller locks. No errors.
class HungReads {
 public:
  // A job may have `most_of_job` reads that hang.
  explicit HungReads(int most_of_job) : most_of_job_(most_of_job) {}

  // Returns whether a job that wants the read may have one more that hangs.
  bool MayBegin(const ReadPurpose& purpose) const {
    for (const std::uint64_t job : PayersOf(purpose)) {
      const auto found = by_job_.find(job);
      const int hung = found == by_job_.end() ? 0 : found->second;
      if (hung < most_of_job_) return true;
    }
    return false;
  }

  void Add(const ReadPurpose& purpose) {
    for (const std::uint64_t job : PayersOf(purpose)) ++by_job_[job];
  }
  // Ends what Add began, for a read with the same jobs.
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

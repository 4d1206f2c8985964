#ifndef FOREBAY_SERVER_STORAGE_LOCAL_WORKING_SET_ESTIMATE_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_WORKING_SET_ESTIMATE_H_

#include <cstddef>
#include <cstdint>
#include <map>

namespace forebay::storage::local {

// Estimates the bytes of all distinct reads, of which most are repeated: what a
// cache would have to hold to spare them all. Uses the reads whose hashes are
// the lowest, and is right within some percent. Source of the method:
// Waldspurger et al., "Efficient MRC construction with SHARDS", FAST 2015.
//
// Pure; not thread-safe. Takes a fixed amount of memory. No errors.
class WorkingSetEstimate {
 public:
  // `hash` identifies the read, and is evenly distributed.
  void Add(std::uint64_t hash, std::uint64_t bytes);

  // Returns the estimate; exact while there were few distinct reads.
  double bytes() const;

 private:
  static constexpr std::size_t kMaxSamples = 2048;

  std::map<std::uint64_t, std::uint64_t> samples_;  // bytes by hash
  std::uint64_t sampled_bytes_ = 0;
  // Hashes from here on are left out.
  std::uint64_t threshold_ = UINT64_MAX;
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_WORKING_SET_ESTIMATE_H_

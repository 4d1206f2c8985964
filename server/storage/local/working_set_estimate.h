#ifndef FOREBAY_SERVER_STORAGE_LOCAL_WORKING_SET_ESTIMATE_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_WORKING_SET_ESTIMATE_H_

#include <cstddef>
#include <cstdint>
#include <map>

namespace forebay::storage::local {

// How many bytes different reads come to, where most are made again and again:
// what a cache would have to hold to spare them all. Estimated from those reads
// whose hashes are the lowest, within some percent. Source of the method:
// Waldspurger et al., "Efficient MRC construction with SHARDS", FAST 2015.
//
// Pure; not thread-safe. Takes a fixed amount of memory. No errors.
class WorkingSetEstimate {
 public:
  // `hash` is that of what is read, evenly distributed.
  void Add(std::uint64_t hash, std::uint64_t bytes);

  // The estimate; exact as long as few different reads have been made.
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

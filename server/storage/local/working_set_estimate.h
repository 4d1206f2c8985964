#ifndef FOREBAY_SERVER_STORAGE_LOCAL_WORKING_SET_ESTIMATE_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_WORKING_SET_ESTIMATE_H_

#include <cstddef>
#include <cstdint>
#include <map>

namespace forebay::storage::local {

// Estimates the total bytes of all distinct reads. If reads are repeated, a
// cache of that size serves all repetitions. The estimate uses the reads with
// the lowest hashes, and is right within a few percent. Source of the method:
// Waldspurger et al., "Efficient MRC construction with SHARDS", FAST 2015.
//
// Pure; not thread-safe. The user owns it. Takes a fixed amount of memory.
// Never blocks; no errors.
class WorkingSetEstimate {
 public:
  // Adds a read of `bytes` bytes. `hash` identifies the read, and is evenly
  // distributed.
  void Add(std::uint64_t hash, std::uint64_t bytes);

  // Returns the estimate in bytes. The estimate is exact for up to kMaxSamples
  // distinct reads.
  double bytes() const;

 private:
  // The most reads that the estimate keeps. The relative error is about 1 /
  // sqrt(kMaxSamples), or 2%.
  static constexpr std::size_t kMaxSamples = 2048;

  // The bytes of the kept reads, by hash.
  std::map<std::uint64_t, std::uint64_t> samples_;
  std::uint64_t sampled_bytes_ = 0;
  // Reads with this hash or a higher one are left out.
  std::uint64_t threshold_ = UINT64_MAX;
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_WORKING_SET_ESTIMATE_H_

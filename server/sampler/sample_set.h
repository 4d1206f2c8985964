#ifndef FOREBAY_SERVER_SAMPLER_SAMPLE_SET_H_
#define FOREBAY_SERVER_SAMPLER_SAMPLE_SET_H_

#include <cstdint>
#include <vector>

namespace forebay::sampler {

// A set of samples out of 0 to size - 1. Finds samples that the set lacks by
// their rank, so that one can be drawn at random even if few are left. The set
// takes one bit of memory for each sample, and little more. Calls take time
// that grows with the logarithm of the size, to the base 64. All arguments are
// below the size.
//
// Not thread-safe: the caller locks. Owns its bits. Never blocks. No errors.
class SampleSet {
 public:
  explicit SampleSet(std::uint64_t size);

  std::uint64_t size() const { return size_; }
  bool Has(std::uint64_t sample) const;
  // Adds a sample; does nothing if the set has it.
  void Add(std::uint64_t sample);
  // Returns the number of samples that the set lacks.
  std::uint64_t lacking() const { return levels_.back()[0]; }
  // Returns the `rank`-th smallest sample that the set lacks, counted from 0;
  // `rank` is below lacking().
  std::uint64_t Lacking(std::uint64_t rank) const;

 private:
  // How many elements of one level are summed up in one element of the next
  // level.
  static constexpr std::uint64_t kFanOut = 64;

  std::uint64_t size_;
  // Each sample has a bit, which is 1 if the set has the sample. The spare bits
  // behind the last sample's bit are 1, so they never count as lacking samples.
  std::vector<std::uint64_t> words_;
  // The first level has the number of lacking samples in each kFanOut words.
  // Each further level has the sum of each kFanOut numbers of the level before.
  // The last level has one number, for all samples.
  std::vector<std::vector<std::uint64_t>> levels_;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_SAMPLE_SET_H_

#ifndef FOREBAY_SERVER_SAMPLER_SAMPLE_SET_H_
#define FOREBAY_SERVER_SAMPLER_SAMPLE_SET_H_

#include <cstdint>
#include <vector>

namespace forebay::sampler {

// A set of samples out of 0 to size - 1. It finds the samples that it lacks by
// their rank, so that one of them can be drawn at random even if few are left.
// The set takes a bit of memory per sample, and little more. Calls take time
// logarithmic in the size, to the base 64. All arguments are below the size.
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
  // The number of elements of one level that one element of the next level sums
  // up.
  static constexpr std::uint64_t kFanOut = 64;

  std::uint64_t size_;
  // A bit per sample, 1 if the set has it. The bits behind the size are 1, so
  // they never count as lacking.
  std::vector<std::uint64_t> words_;
  // The number of lacking samples in each kFanOut words; then in each kFanOut
  // of these numbers, and so on. The last level has one number, for all
  // samples.
  std::vector<std::vector<std::uint64_t>> levels_;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_SAMPLE_SET_H_

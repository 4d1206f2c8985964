#ifndef FOREBAY_SERVER_SAMPLER_SAMPLE_SET_H_
#define FOREBAY_SERVER_SAMPLER_SAMPLE_SET_H_

#include <cstdint>
#include <vector>

namespace forebay::sampler {

// A set of samples out of 0 to size - 1. It finds the samples that it lacks by
// rank, so that one can be drawn however few they are. Takes a bit a sample and
// little besides. Calls take time that hardly grows with the size. Not
// thread-safe. Never blocks; no errors. Samples are below the size.
class SampleSet {
 public:
  explicit SampleSet(std::uint64_t size);

  std::uint64_t size() const { return size_; }
  bool Has(std::uint64_t sample) const;
  // Does nothing if the sample is there.
  void Add(std::uint64_t sample);
  // The number of samples that it lacks.
  std::uint64_t lacking() const { return levels_.back()[0]; }
  // Returns the sample of that rank among those, in order; `rank` is below
  // lacking().
  std::uint64_t Lacking(std::uint64_t rank) const;

 private:
  static constexpr std::uint64_t kFanOut = 64;

  std::uint64_t size_;
  std::vector<std::uint64_t> words_;  // of bits; those behind the size are set
  // The number of lacking samples in each kFanOut words, in each kFanOut of
  // those, and so on. The last level has one number, that of all.
  std::vector<std::vector<std::uint64_t>> levels_;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_SAMPLE_SET_H_

#ifndef FOREBAY_SERVER_SAMPLER_SAMPLE_SET_H_
#define FOREBAY_SERVER_SAMPLER_SAMPLE_SET_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace forebay::sampler {

// A set of samples out of 0 to size - 1, which finds those that it lacks by
// number, so that one of them can be drawn however few they are. Takes a bit a
// sample and little besides; every call but the last three takes time that
// hardly grows with the size. Not thread-safe. Never blocks. Errors: those of
// Assign; else samples are below the size.
class SampleSet {
 public:
  explicit SampleSet(std::uint64_t size);

  std::uint64_t size() const { return size_; }
  bool Has(std::uint64_t sample) const;
  // Does nothing if it is there.
  void Add(std::uint64_t sample);
  // How many it lacks.
  std::uint64_t lacking() const { return levels_.back()[0]; }
  // Of those, in order, number `rank`, which is below lacking().
  std::uint64_t Lacking(std::uint64_t rank) const;

  void Clear();
  // The set as bytes: bit i % 8 of byte i / 8 tells of sample i.
  std::vector<std::uint8_t> ToBytes() const;
  // Becomes the set that those are. INVALID_ARGUMENT, and nothing is changed:
  // they are not of a set of this size.
  absl::Status Assign(absl::Span<const std::uint8_t> bytes);

 private:
  static constexpr std::uint64_t kFanOut = 64;

  // Makes the levels anew from the words.
  void Count();

  std::uint64_t size_;
  std::vector<std::uint64_t> words_;  // of bits; behind the size, all are set
  // How many are lacking in each kFanOut words, in each kFanOut of those, and
  // so on; the last level has one number, of all.
  std::vector<std::vector<std::uint64_t>> levels_;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_SAMPLE_SET_H_

#include "server/sampler/sample_set.h"

#include <algorithm>
#include <bit>

#include "server/base/check.h"

namespace forebay::sampler {
namespace {

constexpr std::uint64_t kWordBits = 64;

std::uint64_t Pieces(std::uint64_t count, std::uint64_t each) {
  return (count + each - 1) / each;
}

// Returns the index of the zero bit of `word` that has `rank` zeros below it.
std::uint64_t ZeroAt(std::uint64_t word, std::uint64_t rank) {
  std::uint64_t zeros = ~word;
  for (; rank > 0; --rank) zeros &= zeros - 1;
  return static_cast<std::uint64_t>(std::countr_zero(zeros));
}

}  // namespace

SampleSet::SampleSet(std::uint64_t size)
    : size_(size), words_(std::max<std::uint64_t>(1, Pieces(size, kWordBits))) {
  const std::uint64_t used = size_ % kWordBits;
  if (size_ == 0) {
    words_.back() = ~std::uint64_t{0};
  } else if (used != 0) {
    words_.back() = ~std::uint64_t{0} << used;
  }
  std::vector<std::uint64_t> level(Pieces(words_.size(), kFanOut));
  for (std::size_t i = 0; i < words_.size(); ++i) {
    level[i / kFanOut] += static_cast<std::uint64_t>(std::popcount(~words_[i]));
  }
  levels_.push_back(level);
  while (levels_.back().size() > 1) {
    const std::vector<std::uint64_t>& below = levels_.back();
    level.assign(Pieces(below.size(), kFanOut), 0);
    for (std::size_t i = 0; i < below.size(); ++i) {
      level[i / kFanOut] += below[i];
    }
    levels_.push_back(level);
  }
}

bool SampleSet::Has(std::uint64_t sample) const {
  FOREBAY_CHECK(sample < size_);
  return ((words_[sample / kWordBits] >> (sample % kWordBits)) & 1) != 0;
}

void SampleSet::Add(std::uint64_t sample) {
  if (Has(sample)) return;
  words_[sample / kWordBits] |= std::uint64_t{1} << (sample % kWordBits);
  std::uint64_t place = sample / kWordBits;
  for (std::vector<std::uint64_t>& level : levels_) {
    place /= kFanOut;
    --level[place];
  }
}

std::uint64_t SampleSet::Lacking(std::uint64_t rank) const {
  FOREBAY_CHECK(rank < lacking());
  // The search descends the levels. At each level, it skips the subtrees whose
  // lacking samples all have lower ranks.
  std::uint64_t place = 0;
  for (std::size_t i = levels_.size() - 1; i > 0; --i) {
    place *= kFanOut;
    while (rank >= levels_[i - 1][place]) rank -= levels_[i - 1][place++];
  }
  place *= kFanOut;
  const auto zeros = [this](std::uint64_t word) {
    return static_cast<std::uint64_t>(std::popcount(~words_[word]));
  };
  while (rank >= zeros(place)) rank -= zeros(place++);
  return place * kWordBits + ZeroAt(words_[place], rank);
}

}  // namespace forebay::sampler

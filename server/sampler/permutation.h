#ifndef FOREBAY_SERVER_SAMPLER_PERMUTATION_H_
#define FOREBAY_SERVER_SAMPLER_PERMUTATION_H_

#include <array>
#include <cstdint>

namespace forebay::sampler {

// The largest size of a permutation, and so of a dataset.
inline constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 62;

// A pseudo-random order of 0 to size - 1 that is never stored. Any position can
// be asked for, in either direction, in O(1) time and memory. Equal (size,
// seed, epoch) give the equal order, on every machine. Immutable value,
// thread-safe, never blocks, has no errors.
class Permutation {
 public:
  // `size` is 1 to kMaxSize.
  Permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch);

  std::uint64_t size() const { return size_; }

  // Returns the number at `position`; both are below size().
  std::uint64_t At(std::uint64_t position) const;

  // Returns the position of `id`: PositionOf(At(p)) == p.
  std::uint64_t PositionOf(std::uint64_t id) const;

 private:
  static constexpr int kMaxRounds = 24;

  std::uint64_t Encrypt(std::uint64_t value) const;
  std::uint64_t Decrypt(std::uint64_t value) const;

  std::uint64_t size_;
  std::uint64_t rows_;     // even, so that odd permutations occur too
  std::uint64_t columns_;  // rows_ * columns_ >= size_
  int rounds_;
  std::array<std::uint64_t, kMaxRounds> keys_;  // of which rounds_ are used
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_PERMUTATION_H_

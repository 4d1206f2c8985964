#ifndef FOREBAY_SERVER_SAMPLER_PERMUTATION_H_
#define FOREBAY_SERVER_SAMPLER_PERMUTATION_H_

#include <array>
#include <cstdint>

namespace forebay::sampler {

// The largest size of a permutation, and thus of a dataset.
inline constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 62;

// A pseudo-random order of 0 to size - 1 that is never stored. Any position can
// be asked for, in either direction, in O(1) time and memory. Equal (size,
// seed, epoch) give the same order, on every machine.
//
// Immutable value, thread-safe. Owns all its state. Never blocks. No errors.
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
  // The number of rounds for the smallest permutations; larger ones need fewer
  // rounds.
  static constexpr int kMaxRounds = 24;

  // Applies the Feistel network to a cell of the grid.
  std::uint64_t Encrypt(std::uint64_t value) const;
  // Inverts Encrypt.
  std::uint64_t Decrypt(std::uint64_t value) const;

  std::uint64_t size_;
  // The number of rows of the grid. The number is even, because with an odd
  // number only even permutations could occur.
  std::uint64_t rows_;
  // The number of columns of the grid: rows_ * columns_ is at least size_.
  std::uint64_t columns_;
  // The number of rounds of the network. Each round uses one key.
  int rounds_;
  std::array<std::uint64_t, kMaxRounds> keys_;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_PERMUTATION_H_

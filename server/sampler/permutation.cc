#include "server/sampler/permutation.h"

#include <cmath>

#include "server/base/check.h"

// The permutation is a Feistel network over a grid of rows_ x columns_ cells, a
// little larger than the size. A round adds a keyed hash of one coordinate to
// the other, modulo the other's range. Subtracting the hash undoes the round,
// so any number of rounds is a bijection of the grid. A result outside the size
// goes through the network again until it falls inside ("cycle walking", Black
// and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002). The walk is
// still a bijection. A number hardly ever needs it, because the grid has at
// most about 3 * sqrt(size) spare cells.

namespace forebay::sampler {
namespace {

// Returns a hash of `x`: the finalizer of MurmurHash3 with the stronger
// constants that Pelle Evensen found ("moremur").
std::uint64_t Mix(std::uint64_t x) {
  x ^= x >> 27;
  x *= 0x3C79AC492BA7B653;
  x ^= x >> 33;
  x *= 0x1C69B3F74AC4AE35;
  x ^= x >> 27;
  return x;
}

// Returns a hash of `value` in [0, range).
std::uint64_t Draw(std::uint64_t value, std::uint64_t key,
                   std::uint64_t range) {
  return static_cast<std::uint64_t>(
      (static_cast<unsigned __int128>(Mix(value + key)) * range) >> 64);
}

// Returns the square root of `n`, rounded up. The loops correct the rounding of
// the floating-point root.
std::uint64_t CeilSqrt(std::uint64_t n) {
  auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(n)));
  while (root > 0 && (root - 1) * (root - 1) >= n) --root;
  while (root * root < n) ++root;
  return root;
}

}  // namespace

Permutation::Permutation(std::uint64_t size, std::uint64_t seed,
                         std::uint64_t epoch)
    : size_(size) {
  FOREBAY_CHECK(size >= 1 && size <= kMaxSize);
  const std::uint64_t root = CeilSqrt(size);
  rows_ = root + root % 2;
  columns_ = (size + rows_ - 1) / rows_;
  // Odd multiples of the golden ratio keep the rounds' keys apart. The seed is
  // mixed before the epoch is added, which keeps (seed, epoch) and (seed + 1,
  // epoch - 1) apart.
  std::uint64_t step = 0x9E3779B97F4A7C15;
  // Small grids need more rounds to make all permutations about equally likely,
  // because a hash has only a few values there.
  rounds_ = size < 256 ? kMaxRounds : 8;
  for (int round = 0; round < rounds_; ++round) {
    keys_[round] = Mix(Mix(seed + step) + Mix(epoch ^ step) * 3);
    step += 2 * 0x9E3779B97F4A7C15;
  }
}

std::uint64_t Permutation::Encrypt(std::uint64_t value) const {
  std::uint64_t row = value / columns_;
  std::uint64_t column = value % columns_;
  for (int round = 0; round < rounds_; round += 2) {
    row += Draw(column, keys_[round], rows_);
    if (row >= rows_) row -= rows_;
    column += Draw(row, keys_[round + 1], columns_);
    if (column >= columns_) column -= columns_;
  }
  return row * columns_ + column;
}

std::uint64_t Permutation::Decrypt(std::uint64_t value) const {
  std::uint64_t row = value / columns_;
  std::uint64_t column = value % columns_;
  for (int round = rounds_ - 2; round >= 0; round -= 2) {
    column += columns_ - Draw(row, keys_[round + 1], columns_);
    if (column >= columns_) column -= columns_;
    row += rows_ - Draw(column, keys_[round], rows_);
    if (row >= rows_) row -= rows_;
  }
  return row * columns_ + column;
}

std::uint64_t Permutation::At(std::uint64_t position) const {
  FOREBAY_CHECK(position < size_);
  std::uint64_t value = Encrypt(position);
  while (value >= size_) value = Encrypt(value);
  return value;
}

std::uint64_t Permutation::PositionOf(std::uint64_t id) const {
  FOREBAY_CHECK(id < size_);
  std::uint64_t value = Decrypt(id);
  while (value >= size_) value = Decrypt(value);
  return value;
}

}  // namespace forebay::sampler

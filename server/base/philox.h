#ifndef FOREBAY_SERVER_BASE_PHILOX_H_
#define FOREBAY_SERVER_BASE_PHILOX_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "server/base/check.h"

namespace forebay::base {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

// Philox4x32-10: for each key a bijection of counters whose outputs pass tests
// of randomness. Source: Salmon et al., "Parallel random numbers: as easy as 1,
// 2, 3", SC 2011.
constexpr PhiloxCounter Philox(PhiloxKey key, PhiloxCounter counter) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// The random numbers of one op on one sample in one epoch. They depend on
// nothing else: not on threads, ranks, batches or other jobs. Not thread-safe;
// cheap to make, so each user makes its own. Never blocks. No errors.
//
// Key: the seed. Counter: epoch (32 bits), sample (64), op (16), block (16).
// The high half of an epoch beyond 2^32 is mixed into the key. A stream yields
// 2^18 words; to draw more breaks an invariant.
class PhiloxStream {
 public:
  PhiloxStream(std::uint64_t seed, std::uint64_t epoch, std::uint64_t sample,
               std::uint16_t op) {
    const std::uint64_t key = seed ^ ((epoch >> 32) * 0x9E3779B97F4A7C15);
    key_ = {Low(key), Low(key >> 32)};
    counter_ = {Low(epoch), Low(sample), Low(sample >> 32),
                std::uint32_t{op} << 16};
  }

  // Uniform over all 2^32 values.
  std::uint32_t NextUint32() {
    if (next_ == words_.size()) Refill();
    return words_[next_++];
  }

  // Uniform over all 2^64 values; the first word drawn is the low half.
  std::uint64_t NextUint64() {
    const std::uint64_t low = NextUint32();
    return low | (std::uint64_t{NextUint32()} << 32);
  }

  // Uniform in [0, 1): a multiple of 2^-53.
  double NextDouble() {
    return static_cast<double>(NextUint64() >> 11) * 0x1.0p-53;
  }

  // Uniform in 0 to n - 1, without bias; n > 0. Source: Lemire, "Fast random
  // integer generation in an interval", TOMACS 2019.
  std::uint64_t UniformInt(std::uint64_t n) {
    FOREBAY_CHECK(n > 0);
    Product product = Product{NextUint64()} * n;
    if (static_cast<std::uint64_t>(product) < n) {
      const std::uint64_t threshold = -n % n;
      while (static_cast<std::uint64_t>(product) < threshold)
        product = Product{NextUint64()} * n;
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

  // Uniform in [low, high); `low` where the two are equal.
  double Uniform(double low, double high) {
    const double value = low + (high - low) * NextDouble();
    return value < high ? value : low;
  }

 private:
  __extension__ using Product = unsigned __int128;

  static std::uint32_t Low(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
  }

  void Refill() {
    FOREBAY_CHECK(block_ <= 0xFFFF);
    PhiloxCounter counter = counter_;
    counter[3] |= block_++;
    words_ = Philox(key_, counter);
    next_ = 0;
  }

  PhiloxKey key_;
  PhiloxCounter counter_;
  std::uint32_t block_ = 0;
  PhiloxCounter words_{};
  std::size_t next_ = 4;  // of words_: all spent
};

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_PHILOX_H_

#ifndef FOREBAY_SERVER_BASE_PHILOX_H_
#define FOREBAY_SERVER_BASE_PHILOX_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "server/base/check.h"

namespace forebay::base {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

// Returns Philox4x32-10 of a counter. For each key the function is a bijection
// of the 128-bit counters, and consecutive counters give outputs that pass
// tests of randomness. Constants and rounds are those of Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
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

// The random numbers of one op on one sample in one epoch. They depend on seed,
// epoch, sample and op alone: not on threads, ranks, batches or other jobs. Not
// thread-safe. A stream is cheap to make, so each user makes and owns its own.
// Never blocks. There are no errors.
//
// The seed is the key. The counter's words are the epoch's low 32 bits, the
// sample (2 words), and op and block (16 bits each). The high half of an epoch
// above 2^32 is mixed into the key. The block number grows by 1 with every 4
// words drawn, so a stream yields 2^18 words. To draw more is a fault of the
// caller and ends the process.
class PhiloxStream {
 public:
  PhiloxStream(std::uint64_t seed, std::uint64_t epoch, std::uint64_t sample,
               std::uint16_t op) {
    const std::uint64_t key = seed ^ ((epoch >> 32) * 0x9E3779B97F4A7C15);
    key_ = {Low(key), Low(key >> 32)};
    counter_ = {Low(epoch), Low(sample), Low(sample >> 32),
                std::uint32_t{op} << 16};
  }

  // Returns a number that is uniform over all 2^32 values.
  std::uint32_t NextUint32() {
    if (next_ == words_.size()) Refill();
    return words_[next_++];
  }

  // Returns a number that is uniform over all 2^64 values. The first of the two
  // words drawn is the number's low half.
  std::uint64_t NextUint64() {
    const std::uint64_t low = NextUint32();
    return low | (std::uint64_t{NextUint32()} << 32);
  }

  // Returns a number that is uniform over the multiples of 2^-53 in [0, 1).
  double NextDouble() {
    return static_cast<double>(NextUint64() >> 11) * 0x1.0p-53;
  }

  // Returns a number that is uniform in 0 to n - 1, without bias; `n` is more
  // than 0. The method, multiplication with rejection, is that of Lemire, "Fast
  // random integer generation in an interval", TOMACS 2019.
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

  // Returns a number that is uniform in [low, high), or `low` where the two are
  // equal. Rounding can give `high`, which then becomes `low`.
  double Uniform(double low, double high) {
    const double value = low + (high - low) * NextDouble();
    return value < high ? value : low;
  }

 private:
  __extension__ using Product = unsigned __int128;

  static std::uint32_t Low(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
  }

  // Draws the 4 words of the next block.
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
  std::size_t next_ = 4;  // index in words_; 4 if all are spent
};

// The numbers of random streams, which a PhiloxStream takes as `op`. In the
// comments below, "the key" is what is passed as `sample`. The number of an
// image op is its place in the pipeline. Orders and draws depend on these
// numbers, so the numbers never change.
//
// Some purposes share a number. The sharing is safe: two purposes with equal
// seeds, epochs and keys draw equal words, but decide unrelated things with
// them.

// The most ops that a pipeline may have. The numbers of image ops start at 0;
// the key is the sample.
inline constexpr std::uint16_t kMaxPipelineOps = 64;
// The numbers of audio ops that draw start here; the key is the sample.
inline constexpr std::uint16_t kAudioStreams = 0xFE00;
// The numbers of RandomWindow ops start here; the key is the sample.
inline constexpr std::uint16_t kWindowStreams = 0xFF00;
// The numbers for choosing the replacements of a corrupt sample count down from
// here. The key is the corrupt sample.
inline constexpr std::uint16_t kSubstitutionStreams = 0xFFFF;
inline constexpr std::uint16_t kMaxSubstitutions = 16;
// The seed of the user's code; the key is the sample. The first replacement has
// the same number: the code never runs on a sample that is corrupt.
inline constexpr std::uint16_t kUserCodeStream = 0xFFFF;
// A shuffle in blocks permutes each group of samples; the key is the group. The
// second replacement has the same number.
inline constexpr std::uint16_t kBlockGroupStream = 0xFFFE;
// An order by length permutes each window's batches; the key is the window. The
// third replacement has the same number.
inline constexpr std::uint16_t kLengthWindowStream = 0xFFFD;
// A coordinated order draws samples; the key counts the draws. An order by
// length has the same number, but a loader has only one order.
inline constexpr std::uint16_t kCoordinatedStream = 0xFFFD;

static_assert(kMaxPipelineOps <= kAudioStreams &&
                  kAudioStreams + kMaxPipelineOps <= kWindowStreams &&
                  kWindowStreams + kMaxPipelineOps <=
                      kSubstitutionStreams - kMaxSubstitutions,
              "an op shares its number with nothing else");

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_PHILOX_H_

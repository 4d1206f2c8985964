#include "server/dataset/hdf5/checksum.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace forebay::dataset::hdf5 {
namespace {

constexpr std::size_t kBlock = 12;  // bytes that lookup3 mixes at a time

// The state of lookup3: three words, into which each block is added and mixed.
// The rotations are those of Bob Jenkins' mix() and final().
struct State {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;

  // Adds up to 12 bytes to the words, little-endian; missing bytes count as
  // zeros.
  void Add(absl::Span<const std::uint8_t> bytes) {
    std::uint32_t* const words[] = {&a, &b, &c};
    for (std::size_t i = 0; i < bytes.size(); ++i)
      *words[i / 4] += std::uint32_t{bytes[i]} << (8 * (i % 4));
  }
  void Mix() {
    a = (a - c) ^ std::rotl(c, 4), c += b;
    b = (b - a) ^ std::rotl(a, 6), a += c;
    c = (c - b) ^ std::rotl(b, 8), b += a;
    a = (a - c) ^ std::rotl(c, 16), c += b;
    b = (b - a) ^ std::rotl(a, 19), a += c;
    c = (c - b) ^ std::rotl(b, 4), b += a;
  }
  void Finish() {
    c = (c ^ b) - std::rotl(b, 14);
    a = (a ^ c) - std::rotl(c, 11);
    b = (b ^ a) - std::rotl(a, 25);
    c = (c ^ b) - std::rotl(b, 16);
    a = (a ^ c) - std::rotl(c, 4);
    b = (b ^ a) - std::rotl(a, 14);
    c = (c ^ b) - std::rotl(b, 24);
  }
};

}  // namespace

std::uint32_t Lookup3(absl::Span<const std::uint8_t> bytes) {
  // Each word begins as the sum of this constant, the length and the initial
  // value, which is 0 in HDF5.
  const auto start = 0xdeadbeef + static_cast<std::uint32_t>(bytes.size());
  State state{start, start, start};
  // The last block is mixed differently, even if it is a whole one.
  while (bytes.size() > kBlock) {
    state.Add(bytes.first(kBlock));
    state.Mix();
    bytes.remove_prefix(kBlock);
  }
  if (!bytes.empty()) {
    state.Add(bytes);
    state.Finish();
  }
  return state.c;
}

std::uint32_t Fletcher32(absl::Span<const std::uint8_t> bytes) {
  // Number of words that can be added before a sum may overflow 32 bits. The
  // sums are folded after each run of so many words.
  constexpr std::size_t kWords = 360;
  std::uint32_t sum1 = 0;
  std::uint32_t sum2 = 0;
  const auto fold = [&] {
    sum1 = (sum1 & 0xffff) + (sum1 >> 16);
    sum2 = (sum2 & 0xffff) + (sum2 >> 16);
  };
  while (bytes.size() >= 2) {
    const std::size_t words = std::min(bytes.size() / 2, kWords);
    for (std::size_t i = 0; i < words; ++i) {
      sum1 += std::uint32_t{bytes[2 * i]} << 8 | bytes[2 * i + 1];
      sum2 += sum1;
    }
    fold();
    bytes.remove_prefix(2 * words);
  }
  // An odd last byte counts as a word whose low byte is 0.
  if (!bytes.empty()) {
    sum1 += std::uint32_t{bytes.front()} << 8;
    sum2 += sum1;
    fold();
  }
  fold();
  return sum2 << 16 | sum1;
}

}  // namespace forebay::dataset::hdf5

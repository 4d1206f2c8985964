#include "server/base/philox.h"

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/child.h"
#include "tests/catch/matchers.h"

namespace forebay::base {
namespace {

using Catch::WithinAbs;
using tests::Contains;

// The published answers are Random123's tests/kat_vectors, lines "philox4x32
// 10".
TEST_CASE("Philox gives the published answers", "[base][philox]") {
  CHECK(Philox({0, 0}, {0, 0, 0, 0}) ==
        PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(Philox({0xffffffff, 0xffffffff},
               {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}) ==
        PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(Philox({0xa4093822, 0x299f31d0},
               {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}) ==
        PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("A Philox stream counts epoch and sample and op and block",
          "[base][philox]") {
  PhiloxStream stream(0x1122334455667788, 7, 0xaabbccdd00112233, 5);
  const PhiloxKey key = {0x55667788, 0x11223344};
  for (std::uint32_t block = 0; block < 3; ++block) {
    const PhiloxCounter words =
        Philox(key, {7, 0x00112233, 0xaabbccdd, (5u << 16) | block});
    for (std::uint32_t word : words) CHECK(stream.NextUint32() == word);
  }
}

TEST_CASE("Every coordinate makes another Philox stream", "[base][philox]") {
  std::set<std::uint64_t> firsts;
  int streams = 0;
  for (std::uint64_t seed : {0ull, 1ull, 1ull << 32})
    for (std::uint64_t epoch : {0ull, 1ull, 1ull << 32, 2ull << 32})
      for (std::uint64_t sample : {0ull, 1ull, 1ull << 32})
        for (std::uint16_t op : {0, 1, 65535}) {
          firsts.insert(PhiloxStream(seed, epoch, sample, op).NextUint64());
          ++streams;
        }
  CHECK(firsts.size() == streams);
}

TEST_CASE(
    "Doubles of a Philox stream have 53 bits in the half-open unit interval",
    "[base][philox]") {
  PhiloxStream words(1, 2, 3, 4);
  PhiloxStream doubles(1, 2, 3, 4);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double value = doubles.NextDouble();
    CHECK(value == std::ldexp(words.NextUint64() >> 11, -53));
    CHECK(value >= 0);
    CHECK(value < 1);
    sum += value;
  }
  CHECK_THAT(sum / 10'000, WithinAbs(0.5, 0.015));
}

TEST_CASE("Integers of a Philox stream are uniform", "[base][philox]") {
  for (std::uint64_t n : {1, 2, 3, 10, 97}) {
    PhiloxStream stream(11, 0, n, 0);
    std::vector<int> counts(n);
    const int draws = 1000 * n;
    for (int i = 0; i < draws; ++i) {
      const std::uint64_t value = stream.UniformInt(n);
      REQUIRE(value < n);
      ++counts[value];
    }
    double chi_square = 0;
    for (int count : counts)
      chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
    CAPTURE(n);
    CHECK(chi_square < n + 5 * std::sqrt(2.0 * n));
  }
}

// A plain modulus with n = 3 * 2^62 would give the low third twice as often.
TEST_CASE("Large ranges of a Philox stream are unbiased", "[base][philox]") {
  const std::uint64_t third = std::uint64_t{1} << 62;
  PhiloxStream stream(5, 0, 0, 0);
  int counts[3] = {};
  for (int i = 0; i < 30'000; ++i)
    ++counts[stream.UniformInt(3 * third) / third];
  for (int count : counts) CHECK_THAT(count, WithinAbs(10'000, 500));
}

TEST_CASE("Uniform doubles of a Philox stream keep their bounds",
          "[base][philox]") {
  PhiloxStream stream(1, 0, 0, 0);
  CHECK(stream.Uniform(2.5, 2.5) == 2.5);
  const double above = std::nextafter(1.0, 2.0);
  for (int i = 0; i < 1000; ++i) {
    CHECK(stream.Uniform(1.0, above) == 1.0);
    const double value = stream.Uniform(-3, 4);
    CHECK(value >= -3);
    CHECK(value < 4);
  }
}

TEST_CASE("A Philox stream does not run into the next op", "[base][philox]") {
  PhiloxStream stream(1, 0, 0, 0);
  for (int i = 0; i < 1 << 18; ++i) stream.NextUint32();
  const tests::ChildEnd child = tests::RunInChild([&] { stream.NextUint32(); });
  CHECK(WIFSIGNALED(child.status));
  CHECK_THAT(child.err, Contains("broken invariant"));
}

}  // namespace
}  // namespace forebay::base

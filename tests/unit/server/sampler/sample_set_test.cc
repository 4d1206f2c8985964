#include "server/sampler/sample_set.h"

#include <cstdint>
#include <random>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::sampler {
namespace {

TEST_CASE("A sample set finds the samples that it lacks",
          "[sampler][sample_set]") {
  for (const std::uint64_t size : {1, 63, 64, 65, 4'096, 4'097, 300'000}) {
    CAPTURE(size);
    SampleSet set(size);
    CHECK(set.lacking() == size);
    CHECK(set.Lacking(0) == 0u);
    CHECK(set.Lacking(size - 1) == size - 1);
    std::mt19937 random(1);
    for (std::uint64_t i = 0; i < size; ++i) {
      if (random() % 16 != 0) set.Add(i);
    }
    std::vector<std::uint64_t> lacking;
    for (std::uint64_t i = 0; i < size; ++i) {
      if (!set.Has(i)) lacking.push_back(i);
    }
    REQUIRE(set.lacking() == lacking.size());
    for (std::uint64_t rank = 0; rank < lacking.size(); ++rank) {
      REQUIRE(set.Lacking(rank) == lacking[rank]);
    }
  }
  CHECK(SampleSet(0).lacking() == 0u);
  SampleSet set(10);
  set.Add(1);
  set.Add(9);
  set.Add(9);
  CHECK(set.lacking() == 8u);
}

}  // namespace
}  // namespace forebay::sampler

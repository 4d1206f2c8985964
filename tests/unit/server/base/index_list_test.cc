#include "server/base/index_list.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/base/sealed_memory.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/sealed_numbers.h"

namespace forebay::base {
namespace {

using tests::HasCode;
std::vector<std::uint64_t> Positions(const IndexList& list,
                                     std::uint64_t number) {
  const auto found = list.PositionsOf(number);
  return {found.begin(), found.end()};
}

TEST_CASE("An index list finds each number wherever it stands",
          "[base][index_list]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  MemoryBudget budget(std::uint64_t{1} << 30);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t bound =
        1 + random() % (std::uint64_t{1} << (1 + random() % 40));
    // Most numbers are from a narrow range, so that many fall into one bucket.
    const std::uint64_t range = 1 + random() % bound;
    std::vector<std::uint64_t> numbers(random() % 300);
    std::map<std::uint64_t, std::vector<std::uint64_t>> expected;
    for (std::uint64_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = random() % (random() % 8 == 0 ? bound : range);
      expected[numbers[i]].push_back(i);
    }
    const auto list = MakeList(numbers, bound, &budget);
    REQUIRE(list->size() == numbers.size());
    for (std::uint64_t i = 0; i < numbers.size(); ++i) {
      const std::vector<std::uint64_t>& all = expected[numbers[i]];
      CHECK(list->At(i) == numbers[i]);
      CHECK(Positions(*list, numbers[i]) == all);
      CHECK(list->PositionOf(numbers[i], i) == i);
      const auto next = std::upper_bound(all.begin(), all.end(), i);
      CHECK(list->PositionOf(numbers[i], i + 1) ==
            (next == all.end() ? std::nullopt : std::make_optional(*next)));
      CHECK(list->RepeatsBefore(i) ==
            static_cast<std::uint64_t>(next - all.begin()) - 1);
    }
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t number = random() % (2 * bound);
      CHECK(list->PositionOf(number).has_value() == expected.contains(number));
    }
  }
  CHECK(budget.used() == 0);
}

TEST_CASE("Equal index lists have equal digests", "[base][index_list]") {
  MemoryBudget budget(1 << 20);
  const auto list = MakeList({3, 1, 2}, 4, &budget);
  CHECK(list->digest() == MakeList({3, 1, 2}, 9, &budget)->digest());
  CHECK(list->digest() != MakeList({1, 3, 2}, 4, &budget)->digest());
}

class HostileListTest {
 protected:
  std::string Refusal(
      const Fd& fd, std::uint64_t bound,
      absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
    auto memory = SealedMemory::Map(fd, &budget_, "the list");
    const auto list = memory.ok() ? IndexList::Create(*std::move(memory), bound,
                                                      &budget_, "the list")
                                  : memory.status();
    CHECK_THAT(list, HasCode(code));
    CHECK(budget_.used() == 0);
    return std::string(list.status().message());
  }

  MemoryBudget budget_{1 << 16};
};

TEST_CASE_METHOD(
    HostileListTest,
    "The refusal of an index list names the number that is not a sample's",
    "[base][index_list]") {
  CHECK(Refusal(SealedNumbers({0, 9, 10}), 10) ==
        "the list: number 2 of it is 10, but the dataset has 10 samples");
  CHECK(Refusal(SealedNumbers({~std::uint64_t{0}}), 10) ==
        "the list: number 0 of it is -1, but the dataset has 10 samples");
}

TEST_CASE_METHOD(HostileListTest, "An index list takes no parts of numbers",
                 "[base][index_list]") {
  CHECK(Refusal(Memfd("twelve bytes", 12), 10) ==
        "the list: 12 bytes are not a list of at most 4294967295 64-bit "
        "numbers");
}

TEST_CASE_METHOD(HostileListTest,
                 "An index list takes nothing that may still change",
                 "[base][index_list]") {
  for (const int seals : {0, F_SEAL_WRITE, F_SEAL_SHRINK | F_SEAL_GROW}) {
    CHECK(Refusal(Memfd("12345678", 8, seals), 10) ==
          "the list: its memory is not sealed against writing and "
          "shrinking");
  }
}

TEST_CASE_METHOD(HostileListTest, "An index list takes no files or pipes",
                 "[base][index_list]") {
  const Fd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  CHECK(Refusal(file, 10) == "the list: its descriptor is of no shared memory");
  int pipe[2];
  REQUIRE(pipe2(pipe, O_CLOEXEC) == 0);
  const Fd ends[] = {Fd(pipe[0]), Fd(pipe[1])};
  CHECK(Refusal(ends[0], 10) ==
        "the list: its descriptor is of no shared memory");
}

// A client can claim more memory than there is, because a memfd may consist of
// holes.
TEST_CASE_METHOD(HostileListTest,
                 "An index list takes no more than there is room for",
                 "[base][index_list]") {
  Fd fd(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(ftruncate(fd.get(), std::int64_t{1} << 40) == 0);
  REQUIRE(fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK) == 0);
  const std::string refusal =
      Refusal(fd, 10, absl::StatusCode::kResourceExhausted);
  CAPTURE(refusal);
  CHECK(refusal.find("the list") != refusal.npos);
}

}  // namespace
}  // namespace forebay::base

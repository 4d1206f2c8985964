// Tests which records of an evicted segment are copied to a new segment.

#include <cerrno>
#include <fstream>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/cache/disk/disk_house.h"

namespace forebay::cache::disk {
namespace {

using tests::SizeIs;

constexpr std::uint64_t kSegment = 32 * kPageBytes;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::size_t kBytes = 10'000;
constexpr std::uint64_t kInEach = 10;
constexpr std::uint64_t kSegments = 4;
constexpr std::uint64_t kNewcomer = 100;

// A full tier whose first segment is the least useful one: except for two, all
// samples in it are wanted late.
class CarryOverTest {
 protected:
  static constexpr std::uint64_t kSoon[] = {3, 7};

  CarryOverTest() {
    for (std::uint64_t sample = 1; sample <= kSegments * kInEach; ++sample) {
      house_.next_use().Want(sample, (sample <= kInEach ? 300 : 200) * kSecond);
    }
    for (const std::uint64_t sample : kSoon) {
      house_.next_use().Want(sample, 20 * kSecond);
    }
    house_.next_use().Want(kNewcomer, 10 * kSecond);
    for (std::uint64_t sample = 1; sample <= kSegments * kInEach; ++sample) {
      house_.ReadAndSettle(Sample(sample));
    }
  }

  storage::ReadRequest Sample(std::uint64_t sample) {
    const std::string name = "sample" + std::to_string(1000 + sample);
    if (!versions_.contains(sample)) {
      versions_[sample] = house_.Put(name, kBytes);
    }
    return house_.Request(name, versions_[sample], sample);
  }
  // Returns whether a read of the sample was a hit. Checks its bytes.
  bool IsHit(std::uint64_t sample) {
    const auto before = Counted().hits.reads;
    CHECK(house_.Text(Sample(sample)) == house_.Truth(Sample(sample)));
    return Counted().hits.reads > before;
  }
  DiskSnapshot Counted() { return house_.cache().Snapshot(); }

  DiskHouse house_{kSegments * kSegment, kSegment};
  std::map<std::uint64_t, storage::ObjectVersion> versions_;
};

TEST_CASE_METHOD(
    CarryOverTest,
    "What is wanted soon goes along when the disk cache evicts its segment",
    "[disk][carry_over]") {
  REQUIRE(Counted().evicted.reads == 0);
  REQUIRE_THAT(house_.Segments(), SizeIs(kSegments));
  const auto written = Counted().written.reads;
  house_.ReadAndSettle(Sample(kNewcomer));
  CHECK_THAT(house_.Segments(), SizeIs(kSegments));
  CHECK(Counted().evicted.reads == kInEach);
  CHECK(Counted().carried.reads == 2);
  CHECK(Counted().written.reads == written + 3);
  CHECK(Counted().entries == kSegments * kInEach - kInEach + 3);
  house_.Reopen();
  for (const std::uint64_t sample : kSoon) CHECK(IsHit(sample));
  CHECK(IsHit(kNewcomer));
  CHECK_FALSE(IsHit(1));
  CHECK(Counted().damaged == 0);
}

TEST_CASE_METHOD(
    CarryOverTest,
    "At most half of a segment goes along when the disk cache evicts it",
    "[disk][carry_over]") {
  // The random draws rarely choose samples of the first segment.
  for (std::uint64_t sample = 1; sample <= kInEach; ++sample) {
    house_.next_use().Want(sample, (sample <= 6 ? 20 : 300) * kSecond);
  }
  for (std::uint64_t sample = kInEach + 1; sample <= kSegments * kInEach;
       ++sample) {
    house_.next_use().Want(sample, 19 * kSecond);
  }
  house_.next_use().Want(kNewcomer, kSecond);
  house_.ReadAndSettle(Sample(kNewcomer));
  CHECK(Counted().evicted.reads == kInEach);
  CHECK(Counted().carried.reads <= kInEach / 2);
  CHECK(IsHit(kNewcomer));
}

TEST_CASE_METHOD(
    CarryOverTest,
    "What is damaged does not go along when the disk cache evicts its segment",
    "[disk][carry_over]") {
  const auto path = house_.Segments().front();
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  for (std::uint64_t at = kPageBytes; at < kSegment; at += 1000) {
    file.seekp(static_cast<std::streamoff>(at));
    file.put('?');
  }
  file.close();
  house_.ReadAndSettle(Sample(kNewcomer));
  CHECK(Counted().carried.reads == 0);
  CHECK(Counted().damaged == 2);
  CHECK(IsHit(kNewcomer));
  CHECK_FALSE(IsHit(kSoon[0]));
}

TEST_CASE_METHOD(
    CarryOverTest,
    "A disk that cannot be read costs the disk cache only what would go along",
    "[disk][carry_over]") {
  house_.faults().read = EIO;
  house_.ReadAndSettle(Sample(kNewcomer));
  house_.faults().read = 0;
  CHECK(Counted().failures == 2);
  CHECK(Counted().carried.reads == 0);
  CHECK(IsHit(kNewcomer));
}

TEST_CASE_METHOD(CarryOverTest,
                 "A disk without space for both the old and the new segment "
                 "drops the old one",
                 "[disk][carry_over]") {
  house_.faults().creates_before = 0;
  house_.faults().create = ENOSPC;
  house_.ReadAndSettle(Sample(kNewcomer));
  house_.faults().create = 0;
  CHECK(Counted().evicted.reads == 2 * kInEach);
  CHECK(Counted().carried.reads == 0);
  CHECK_THAT(house_.Segments(), SizeIs(kSegments - 2));
}

}  // namespace
}  // namespace forebay::cache::disk

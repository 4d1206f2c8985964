// Tests which segments a full tier evicts, and for which entries.

#include <map>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/cache/disk/disk_house.h"

namespace forebay::cache::disk {
namespace {

using tests::SizeIs;

// A segment has space for one entry of kLarge bytes.
constexpr std::uint64_t kSmallSegment = 16 * kPageBytes;
constexpr std::size_t kLarge = 40'000;
constexpr std::int64_t kSecond = 1'000'000'000;

// Four segments of one entry each, wanted one second after another.
class FullTierTest {
 protected:
  FullTierTest() {
    for (std::uint64_t sample = 1; sample <= 4; ++sample) {
      Want(sample, static_cast<std::int64_t>(sample) * kSecond);
      house_.ReadAndSettle(Sample(sample));
    }
  }

  void Want(std::uint64_t sample, std::int64_t at_nanos) {
    house_.next_use().Want(sample, at_nanos);
  }
  storage::ReadRequest Sample(std::uint64_t sample) {
    const std::string name = "sample" + std::to_string(sample);
    if (!versions_.contains(sample)) {
      versions_[sample] = house_.Put(name, kLarge);
    }
    return house_.Request(name, versions_[sample], sample);
  }
  // Returns the numbers of the stored samples, in order.
  std::string Kept() {
    std::string kept;
    for (const auto& [sample, version] : versions_) {
      const auto before = house_.cache().Snapshot().hits.reads;
      Want(sample, kNever);  // the read itself then stores nothing
      CHECK(house_.ReadAndSettle(Sample(sample)) ==
            house_.Truth(Sample(sample)));
      if (house_.cache().Snapshot().hits.reads > before) {
        kept += std::to_string(sample);
      }
    }
    return kept;
  }

  DiskHouse house_{4 * kSmallSegment, kSmallSegment};
  std::map<std::uint64_t, storage::ObjectVersion> versions_;
};

TEST_CASE_METHOD(FullTierTest,
                 "A full disk tier does not write an entry that is wanted "
                 "later than all others",
                 "[disk][full_tier]") {
  Want(5, 9 * kSecond);
  house_.ReadAndSettle(Sample(5));
  CHECK(house_.cache().Snapshot().refused.reads == 1);
  CHECK(house_.cache().Snapshot().evicted.reads == 0);
  CHECK(Kept() == "1234");
}

TEST_CASE_METHOD(FullTierTest,
                 "A full disk tier evicts the segment wanted last to make way "
                 "for a newcomer",
                 "[disk][full_tier]") {
  Want(5, kSecond / 2);
  house_.ReadAndSettle(Sample(5));
  CHECK(house_.cache().Snapshot().evicted.reads == 1);
  CHECK_THAT(house_.Segments(), SizeIs(4));
  CHECK(Kept() == "1235");
}

TEST_CASE_METHOD(
    FullTierTest,
    "Any newcomer evicts a segment that is never wanted from a full disk tier",
    "[disk][full_tier]") {
  Want(2, kNever);
  Want(5, 9 * kSecond);
  house_.ReadAndSettle(Sample(5));
  CHECK(Kept() == "1345");
}

TEST_CASE_METHOD(
    FullTierTest,
    "After a restart a full disk tier evicts the least recently used segment",
    "[disk][full_tier]") {
  house_.Reopen();
  house_.clock().Advance(100 * kSecond);
  Want(1, 200 * kSecond);
  for (const std::uint64_t sample : {2, 3, 4}) {
    auto request = Sample(sample);
    request.sample = {};
    house_.ReadAndSettle(request);
  }
  // Sample 1 has not been used for twice the time until the newcomer is wanted.
  Want(5, 140 * kSecond);
  house_.ReadAndSettle(Sample(5));
  CHECK(Kept() == "2345");
}

TEST_CASE_METHOD(FullTierTest,
                 "A full disk tier refuses a newcomer of unknown use until a "
                 "segment is stale",
                 "[disk][full_tier]") {
  house_.Reopen();
  house_.clock().Advance(1199 * kSecond);
  auto request = Sample(5);
  request.sample = {};
  house_.ReadAndSettle(request);
  CHECK(house_.cache().Snapshot().refused.reads == 1);
  house_.clock().Advance(2 * kSecond);
  house_.ReadAndSettle(request);
  CHECK(house_.cache().Snapshot().evicted.reads == 1);
  CHECK(house_.cache().Snapshot().entries == 4);
}

TEST_CASE_METHOD(
    FullTierTest,
    "An evicted segment can still be read by a read that began before",
    "[disk][full_tier]") {
  // Both reads begin before the newcomer replaces the segment. The segment may
  // be replaced before or after the reads; the bytes are right in both cases.
  std::promise<std::string> promise;
  auto request = Sample(4);
  const std::string truth = house_.Truth(request);
  request.done = [&](const absl::StatusOr<storage::ReadResult>& result) {
    promise.set_value(CacheHouse::TextOf(result));
  };
  house_.cache().Read({&request, 1});
  Want(5, kSecond / 2);
  house_.ReadAndSettle(Sample(5));
  CHECK(promise.get_future().get() == truth);
}

TEST_CASE_METHOD(FullTierTest,
                 "A disk tier that is made smaller keeps the newest segments",
                 "[disk][full_tier]") {
  house_.Close();
  house_.set_capacity(2 * kSmallSegment);
  house_.Open();
  CHECK_THAT(house_.Segments(), SizeIs(2));
  CHECK(house_.cache().Snapshot().used == 2 * kSmallSegment);
  CHECK(Kept() == "34");
}

}  // namespace
}  // namespace forebay::cache::disk

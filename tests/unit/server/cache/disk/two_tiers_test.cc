// Tests which hits each job has in the memory tier and in the disk tier below.

#include <cerrno>
#include <latch>

#include "server/cache/cache.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/thread_checks.h"
#include "tests/unit/server/cache/disk/disk_house.h"

namespace forebay::cache::disk {
namespace {

using tests::ElementsAre;
using tests::Key;

class TwoTiersTest {
 protected:
  static constexpr std::uint64_t kPlenty = std::uint64_t{64} << 20;

  void SetMemory(std::uint64_t bytes) {
    memory_ = *Cache::Create({.capacity = bytes, .seed = 1},
                             {.below = &house_.cache(),
                              .budget = &house_.budget(),
                              .next_use = &house_.next_use(),
                              .clock = &house_.clock()});
  }
  // Reads the object for all jobs in one call, then waits for the tier.
  void Read(const std::string& object, const std::vector<std::uint64_t>& jobs) {
    if (!versions_.contains(object)) {
      versions_[object] = house_.Put(object, object.size() * 100);
    }
    tests::ThreadChecks checks;
    std::latch done(static_cast<std::ptrdiff_t>(jobs.size()));
    std::vector<storage::ReadRequest> requests;
    for (const std::uint64_t job : jobs) {
      auto request = house_.Request(object, versions_[object]);
      request.purpose.job = job;
      request.done = [&, truth = house_.Truth(request)](
                         const absl::StatusOr<storage::ReadResult>& result) {
        checks.Check(CacheHouse::TextOf(result) == truth, "other bytes");
        done.count_down();
      };
      requests.push_back(std::move(request));
    }
    memory_->Read(absl::MakeSpan(requests));
    done.wait();
    house_.Settle();
  }
  // Returns the numbers of reads as "memory+shared+disk+source".
  static std::string Reads(const Traffic& traffic) {
    std::string text;
    for (const Tally* tally :
         {&traffic.memory, &traffic.shared, &traffic.disk, &traffic.source}) {
      text += (text.empty() ? "" : "+") + std::to_string(tally->reads);
    }
    return text;
  }

  DiskHouse house_{kPlenty};
  std::map<std::string, storage::ObjectVersion> versions_;
  std::unique_ptr<Cache> memory_;
};

TEST_CASE_METHOD(TwoTiersTest,
                 "The cache counts by job what the disk tier gave",
                 "[disk][two_tiers]") {
  SetMemory(0);
  Read("a", {1});
  Read("bb", {2});
  Read("a", {2});
  Read("bb", {2});
  Read("bb", {1});
  const cache::CacheSnapshot snapshot = memory_->Snapshot();
  CHECK(Reads(snapshot.jobs.at(1)) == "0+0+1+1");
  CHECK(Reads(snapshot.jobs.at(2)) == "0+0+2+1");
  CHECK(snapshot.jobs.at(1).disk.bytes == 200);
  CHECK(snapshot.jobs.at(2).disk.bytes == 300);
  CHECK(snapshot.jobs.at(2).bytes_saved() == 300);
  CHECK(Reads(snapshot.total) == "0+0+3+2");
  CHECK(snapshot.total.disk.reads == house_.cache().Snapshot().hits.reads);
  CHECK(snapshot.total.disk.bytes == house_.cache().Snapshot().hits.bytes);
}

TEST_CASE_METHOD(TwoTiersTest,
                 "A forgotten job's disk hits stay in the cache's total",
                 "[disk][two_tiers]") {
  SetMemory(0);
  for (const std::uint64_t job : {1, 2, 2}) Read("a", {job});
  memory_->Forget(2);
  const cache::CacheSnapshot snapshot = memory_->Snapshot();
  CHECK_THAT(snapshot.jobs, ElementsAre(Key(1)));
  CHECK(Reads(snapshot.total) == "0+0+2+1");
}

TEST_CASE_METHOD(TwoTiersTest, "Each read counts once in one tier of the cache",
                 "[disk][two_tiers]") {
  SetMemory(1 << 20);
  Read("a", {1, 2});
  CHECK(Reads(memory_->Snapshot().total) == "0+1+0+1");
  Read("a", {2, 1});
  CHECK(Reads(memory_->Snapshot().total) == "2+1+0+1");
  SetMemory(1 << 20);  // an empty cache, as after a restart
  Read("a", {1, 2});
  Read("a", {1});
  const cache::CacheSnapshot snapshot = memory_->Snapshot();
  CHECK(Reads(snapshot.jobs.at(1)) == "1+0+1+0");
  CHECK(Reads(snapshot.jobs.at(2)) == "0+1+0+0");
  CHECK(snapshot.total.bytes_saved() == 300);
}

TEST_CASE_METHOD(TwoTiersTest,
                 "Bytes that the disk tier cannot read come from the source",
                 "[disk][two_tiers]") {
  SetMemory(0);
  Read("a", {1});
  house_.faults().read = EIO;
  Read("a", {1});
  CHECK(Reads(memory_->Snapshot().jobs.at(1)) == "0+0+0+2");
}

}  // namespace
}  // namespace forebay::cache::disk

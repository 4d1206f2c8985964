// Tests of the hits of the memory tier and of the disk tier below it, by job.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <latch>

#include "server/cache/cache.h"
#include "tests/unit/server/cache/disk/disk_house.h"

namespace forebay::cache::disk {
namespace {

using ::testing::ElementsAre;
using ::testing::Key;

class TwoTiersTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kPlenty = std::uint64_t{64} << 20;

  void SetMemory(std::uint64_t bytes) {
    memory_ = *Cache::Create({.capacity = bytes, .seed = 1},
                             {.below = &house_.cache(),
                              .budget = &house_.budget(),
                              .next_use = &house_.next_use(),
                              .clock = &house_.clock()});
  }
  // Reads the object for all jobs in one call. Then waits for the tier.
  void Read(const std::string& object, const std::vector<std::uint64_t>& jobs) {
    if (!versions_.contains(object)) {
      versions_[object] = house_.Put(object, object.size() * 100);
    }
    std::latch done(static_cast<std::ptrdiff_t>(jobs.size()));
    std::vector<storage::ReadRequest> requests;
    for (const std::uint64_t job : jobs) {
      auto request = house_.Request(object, versions_[object]);
      request.purpose.job = job;
      request.done = [&, truth = house_.Truth(request)](
                         const absl::StatusOr<storage::ReadResult>& result) {
        EXPECT_EQ(CacheHouse::TextOf(result), truth);
        done.count_down();
      };
      requests.push_back(std::move(request));
    }
    memory_->Read(absl::MakeSpan(requests));
    done.wait();
    house_.Settle();
  }
  // Returns the reads as "memory+shared+disk+source".
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

TEST_F(TwoTiersTest, WhatTheTierGaveIsCountedByJob) {
  SetMemory(0);
  Read("a", {1});
  Read("bb", {2});
  Read("a", {2});
  Read("bb", {2});
  Read("bb", {1});
  const cache::Snapshot snapshot = memory_->Snapshot();
  EXPECT_EQ(Reads(snapshot.jobs.at(1)), "0+0+1+1");
  EXPECT_EQ(Reads(snapshot.jobs.at(2)), "0+0+2+1");
  EXPECT_EQ(snapshot.jobs.at(1).disk.bytes, 200);
  EXPECT_EQ(snapshot.jobs.at(2).disk.bytes, 300);
  EXPECT_EQ(snapshot.jobs.at(2).bytes_saved(), 300);
  EXPECT_EQ(Reads(snapshot.total), "0+0+3+2");
  EXPECT_EQ(snapshot.total.disk.reads, house_.cache().Snapshot().hits.reads);
  EXPECT_EQ(snapshot.total.disk.bytes, house_.cache().Snapshot().hits.bytes);
}

TEST_F(TwoTiersTest, AForgottenJobsHitsStayInTheTotal) {
  SetMemory(0);
  for (const std::uint64_t job : {1, 2, 2}) Read("a", {job});
  memory_->Forget(2);
  const cache::Snapshot snapshot = memory_->Snapshot();
  EXPECT_THAT(snapshot.jobs, ElementsAre(Key(1)));
  EXPECT_EQ(Reads(snapshot.total), "0+0+2+1");
}

TEST_F(TwoTiersTest, EachReadCountsOnceInOneTier) {
  SetMemory(1 << 20);
  Read("a", {1, 2});
  EXPECT_EQ(Reads(memory_->Snapshot().total), "0+1+0+1");
  Read("a", {2, 1});
  EXPECT_EQ(Reads(memory_->Snapshot().total), "2+1+0+1");
  SetMemory(1 << 20);  // as after a restart
  Read("a", {1, 2});
  Read("a", {1});
  const cache::Snapshot snapshot = memory_->Snapshot();
  EXPECT_EQ(Reads(snapshot.jobs.at(1)), "1+0+1+0");
  EXPECT_EQ(Reads(snapshot.jobs.at(2)), "0+1+0+0");
  EXPECT_EQ(snapshot.total.bytes_saved(), 300);
}

TEST_F(TwoTiersTest, WhatTheTierCannotReadComesFromTheSource) {
  SetMemory(0);
  Read("a", {1});
  house_.faults().read = EIO;
  Read("a", {1});
  EXPECT_EQ(Reads(memory_->Snapshot().jobs.at(1)), "0+0+0+2");
}

}  // namespace
}  // namespace forebay::cache::disk

#include "server/job/registry.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proto/job.pb.h"
#include "server/dataset/catalog.h"
#include "server/schedule/job_shares.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::job {
namespace {

// The values that were set last for a flow.
struct Told {
  double weight = 0;
  double cap = 0;
  bool forgotten = false;
};

class NotingShares final : public schedule::JobShares {
 public:
  void SetWeight(schedule::Flow job, double weight) override {
    told[job].weight = weight;
  }
  void SetCap(schedule::Flow job, double rate) override {
    told[job].cap = rate;
  }
  void Forget(schedule::Flow job) override { told[job].forgotten = true; }

  std::map<schedule::Flow, Told> told;
};

class RegistryTest : public ::testing::Test {
 protected:
  std::unique_ptr<Attachment> Attach(const std::string& key,
                                     const std::string& name,
                                     std::uint32_t pid = 1) {
    proto::JobIdentity identity;
    identity.set_key(key);
    identity.set_name(name);
    return *registry_.Attach(identity, /*uid=*/1000, pid);
  }
  double WeightOf(const std::string& key) const {
    for (const JobSnapshot& job : registry_.Snapshot())
      if (job.key == key) return job.weight;
    return 0;
  }

  NotingShares cpus_;
  NotingShares reads_;
  dataset::Catalog catalog_{{.index_directory = "",
                             .scan_threads = 1,
                             .wall_clock = [] { return std::int64_t{0}; },
                             .budget = base::AmpleBudget()}};
  Registry registry_{
      &catalog_, {.on_changed = {}}, {.reads = &reads_, .cpus = &cpus_}};
};

TEST_F(RegistryTest, ChangesReachWhoSharesOut) {
  const auto attachment = Attach("k1", "resnet");
  ASSERT_EQ(reads_.told.size(), 1);
  const schedule::Flow flow = reads_.told.begin()->first;
  EXPECT_EQ(reads_.told[flow].weight, 1);

  ASSERT_TRUE(registry_.Change("resnet", {.weight = 4, .max_read = 1e6}).ok());
  EXPECT_EQ(reads_.told[flow].weight, 4);
  EXPECT_EQ(cpus_.told[flow].weight, 4);
  EXPECT_EQ(reads_.told[flow].cap, 1e6);
  EXPECT_EQ(cpus_.told[flow].cap, 0) << "it was told none";
  ASSERT_TRUE(registry_.Change("k1", {.max_cpus = 2}).ok());
  EXPECT_EQ(cpus_.told[flow].cap, 2);

  const JobSnapshot job = registry_.Snapshot().front();
  EXPECT_EQ(job.weight, 4);
  EXPECT_EQ(job.max_read, 1e6);
  EXPECT_EQ(job.max_cpus, 2);
  constexpr double kNone = std::numeric_limits<double>::infinity();
  ASSERT_TRUE(registry_.Change("k1", {.max_read = kNone}).ok());
  EXPECT_EQ(reads_.told[flow].cap, kNone);
  EXPECT_EQ(registry_.Snapshot().front().max_read, kNone);
  EXPECT_EQ(registry_.Snapshot().front().max_cpus, 2);
}

TEST_F(RegistryTest, ABadValueChangesNothing) {
  const auto attachment = Attach("k1", "resnet");
  EXPECT_EQ(registry_.Change("resnet", {.weight = 4, .max_cpus = -1}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(WeightOf("k1"), 1);
}

TEST_F(RegistryTest, AKeyWinsOverANameThatIsTheSame) {
  const auto first = Attach("resnet", "first");
  const auto second = Attach("k2", "resnet");
  ASSERT_TRUE(registry_.Change("resnet", {.weight = 4}).ok());
  EXPECT_EQ(WeightOf("resnet"), 4);
  EXPECT_EQ(WeightOf("k2"), 1);
}

TEST_F(RegistryTest, ANameThatSeveralHaveIsRefused) {
  const auto first = Attach("k1", "resnet");
  const auto second = Attach("k2", "resnet");
  const absl::Status status = registry_.Change("resnet", {.weight = 4});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "several jobs are called \"resnet\": name one by its key");
  EXPECT_EQ(registry_.Peek("resnet", "").status(), status);
  ASSERT_TRUE(registry_.Change("k2", {.weight = 4}).ok());
  EXPECT_EQ(WeightOf("k1"), 1);
  EXPECT_EQ(WeightOf("k2"), 4);
}

TEST_F(RegistryTest, SaysWhichJobsThereAre) {
  EXPECT_EQ(registry_.Change("bert", {.weight = 4}).message(),
            "no job is called \"bert\": there is none");
  const auto first = Attach("k1", "resnet");
  const auto second = Attach("k2", "gpt");
  const absl::Status status = registry_.Change("bert", {.weight = 4});
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(),
            "no job is called \"bert\"; there is: gpt, resnet");
  EXPECT_EQ(registry_.Peek("bert", "").status(), status);
  EXPECT_EQ(registry_.Peek("gpt", "").status().message(),
            "no loader of job gpt runs now: there is none");
}

TEST_F(RegistryTest, WhatWasSetEndsWithTheJob) {
  auto attachment = Attach("k1", "resnet");
  const schedule::Flow flow = reads_.told.begin()->first;
  ASSERT_TRUE(registry_.Change("k1", {.weight = 4, .max_read = 1e6}).ok());
  const auto another = Attach("k1", "resnet", /*pid=*/2);
  EXPECT_EQ(WeightOf("k1"), 4);
  attachment.reset();
  EXPECT_FALSE(reads_.told[flow].forgotten);
}

TEST_F(RegistryTest, AnEndedJobIsForgotten) {
  auto attachment = Attach("k1", "resnet");
  const schedule::Flow flow = reads_.told.begin()->first;
  ASSERT_TRUE(registry_.Change("k1", {.weight = 4}).ok());
  attachment.reset();
  EXPECT_TRUE(reads_.told[flow].forgotten);
  EXPECT_TRUE(cpus_.told[flow].forgotten);
  attachment = Attach("k1", "resnet");
  EXPECT_EQ(WeightOf("k1"), 1);
}

// A call for it may hang.
TEST_F(RegistryTest, AJobEndsWhenItsProcessIsDetached) {
  auto attachment = Attach("k1", "resnet");
  const schedule::Flow flow = reads_.told.begin()->first;
  attachment->Detach();
  EXPECT_TRUE(registry_.Snapshot().empty());
  EXPECT_TRUE(reads_.told[flow].forgotten);
  // The call may have been charged to it since.
  reads_.told[flow].forgotten = false;
  const auto successor = Attach("k1", "resnet");
  EXPECT_NE(successor->job(), flow);
  attachment.reset();
  EXPECT_TRUE(reads_.told[flow].forgotten);
  EXPECT_FALSE(reads_.told[successor->job()].forgotten);
  EXPECT_EQ(registry_.Snapshot().size(), 1);
}

TEST_F(RegistryTest, PendingRequestsAreShownUntilTheirNotesEnd) {
  const auto attachment = Attach("k1", "resnet");
  using Kind = PendingRequest::Kind;
  auto first = attachment->Note({.kind = Kind::kOpening, .uri = "/data"});
  const auto second = attachment->Note(
      {.kind = Kind::kReading, .uri = "/file", .since_nanos = 3});
  first->Describe("http://host/data", "http://host");
  std::vector<PendingRequest> pending = registry_.Snapshot().at(0).pending;
  ASSERT_EQ(pending.size(), 2);
  EXPECT_EQ(pending[0].uri, "http://host/data");
  EXPECT_EQ(pending[0].host, "http://host");
  EXPECT_EQ(pending[1].uri, "/file");
  EXPECT_EQ(pending[1].since_nanos, 3);
  first.reset();
  pending = registry_.Snapshot().at(0).pending;
  ASSERT_EQ(pending.size(), 1);
  EXPECT_EQ(pending[0].kind, Kind::kReading);
}

}  // namespace
}  // namespace forebay::job

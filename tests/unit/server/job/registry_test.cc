#include "server/job/registry.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/dataset/catalog.h"
#include "server/executor/executor.h"
#include "server/storage/byte_source.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::job {
namespace {

// What a flow was told last.
struct Told {
  double weight = 0;
  double cap = 0;
  bool forgotten = false;
};

class NotingExecutor final : public executor::Executor {
 public:
  int workers() const override { return 1; }
  void SubmitFor(absl::Span<const schedule::Flow>, const executor::Demand&,
                 Task) override {}
  void SetWeight(schedule::Flow flow, double weight) override {
    told[flow].weight = weight;
  }
  void SetCap(schedule::Flow flow, double cpus) override {
    told[flow].cap = cpus;
  }
  void Forget(schedule::Flow flow) override { told[flow].forgotten = true; }

  std::map<schedule::Flow, Told> told;
};

class NotingSource final : public storage::ByteSource {
 public:
  void Read(absl::Span<storage::ReadRequest>) override {}
  void SetWeight(std::uint64_t job, double weight) override {
    told[job].weight = weight;
  }
  void SetCap(std::uint64_t job, double rate) override { told[job].cap = rate; }
  void Forget(std::uint64_t job) override { told[job].forgotten = true; }

  std::map<std::uint64_t, Told> told;
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

  NotingExecutor executor_;
  NotingSource source_;
  dataset::Catalog catalog_{{.index_directory = "",
                             .scan_threads = 1,
                             .wall_clock = [] { return std::int64_t{0}; },
                             .budget = base::AmpleBudget()}};
  Registry registry_{
      &catalog_,
      {.source = &source_, .executor = &executor_, .on_changed = {}}};
};

TEST_F(RegistryTest, ChangesReachWhoSharesOut) {
  const auto attachment = Attach("k1", "resnet");
  ASSERT_EQ(source_.told.size(), 1);
  const schedule::Flow flow = source_.told.begin()->first;
  EXPECT_EQ(source_.told[flow].weight, 1);

  ASSERT_TRUE(registry_.Change("resnet", {.weight = 4, .max_read = 1e6}).ok());
  EXPECT_EQ(source_.told[flow].weight, 4);
  EXPECT_EQ(executor_.told[flow].weight, 4);
  EXPECT_EQ(source_.told[flow].cap, 1e6);
  EXPECT_EQ(executor_.told[flow].cap, 0) << "it was told none";
  ASSERT_TRUE(registry_.Change("k1", {.max_cpus = 2}).ok());
  EXPECT_EQ(executor_.told[flow].cap, 2);

  const JobSnapshot job = registry_.Snapshot().front();
  EXPECT_EQ(job.weight, 4);
  EXPECT_EQ(job.max_read, 1e6);
  EXPECT_EQ(job.max_cpus, 2);
  constexpr double kNone = std::numeric_limits<double>::infinity();
  ASSERT_TRUE(registry_.Change("k1", {.max_read = kNone}).ok());
  EXPECT_EQ(source_.told[flow].cap, kNone);
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
            "several jobs are called resnet: name one by its key");
  EXPECT_EQ(registry_.Peek("resnet", "").status(), status);
  ASSERT_TRUE(registry_.Change("k2", {.weight = 4}).ok());
  EXPECT_EQ(WeightOf("k1"), 1);
  EXPECT_EQ(WeightOf("k2"), 4);
}

TEST_F(RegistryTest, SaysWhichJobsThereAre) {
  EXPECT_EQ(registry_.Change("bert", {.weight = 4}).message(),
            "no job is called bert: there is none");
  const auto first = Attach("k1", "resnet");
  const auto second = Attach("k2", "gpt");
  const absl::Status status = registry_.Change("bert", {.weight = 4});
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "no job is called bert; there is: gpt, resnet");
  EXPECT_EQ(registry_.Peek("bert", "").status(), status);
  EXPECT_EQ(registry_.Peek("gpt", "").status().message(),
            "no loader of job gpt runs now: there is none");
}

TEST_F(RegistryTest, WhatWasSetEndsWithTheJob) {
  auto attachment = Attach("k1", "resnet");
  const schedule::Flow flow = source_.told.begin()->first;
  ASSERT_TRUE(registry_.Change("k1", {.weight = 4, .max_read = 1e6}).ok());
  const auto another = Attach("k1", "resnet", /*pid=*/2);
  EXPECT_EQ(WeightOf("k1"), 4);
  attachment.reset();
  EXPECT_FALSE(source_.told[flow].forgotten);
}

TEST_F(RegistryTest, AnEndedJobIsForgotten) {
  auto attachment = Attach("k1", "resnet");
  const schedule::Flow flow = source_.told.begin()->first;
  ASSERT_TRUE(registry_.Change("k1", {.weight = 4}).ok());
  attachment.reset();
  EXPECT_TRUE(source_.told[flow].forgotten);
  EXPECT_TRUE(executor_.told[flow].forgotten);
  attachment = Attach("k1", "resnet");
  EXPECT_EQ(WeightOf("k1"), 1);
}

}  // namespace
}  // namespace forebay::job

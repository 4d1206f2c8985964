#include "server/job/registry.h"

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
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::job {
namespace {

using tests::HasCode;
using tests::IsOk;

// The latest values set for a flow.
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

class RegistryTest {
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

TEST_CASE_METHOD(
    RegistryTest,
    "The job registry passes changes on to those who share out CPUs and reads",
    "[job][registry]") {
  const auto attachment = Attach("k1", "resnet");
  REQUIRE(reads_.told.size() == 1);
  const schedule::Flow flow = reads_.told.begin()->first;
  CHECK(reads_.told[flow].weight == 1);

  REQUIRE_THAT(registry_.Change("resnet", {.weight = 4, .max_read = 1e6}),
               IsOk());
  CHECK(reads_.told[flow].weight == 4);
  CHECK(cpus_.told[flow].weight == 4);
  CHECK(reads_.told[flow].cap == 1e6);
  UNSCOPED_INFO("it was told none");
  CHECK(cpus_.told[flow].cap == 0);
  REQUIRE_THAT(registry_.Change("k1", {.max_cpus = 2}), IsOk());
  CHECK(cpus_.told[flow].cap == 2);

  const JobSnapshot job = registry_.Snapshot().front();
  CHECK(job.weight == 4);
  CHECK(job.max_read == 1e6);
  CHECK(job.max_cpus == 2);
  constexpr double kNone = std::numeric_limits<double>::infinity();
  REQUIRE_THAT(registry_.Change("k1", {.max_read = kNone}), IsOk());
  CHECK(reads_.told[flow].cap == kNone);
  CHECK(registry_.Snapshot().front().max_read == kNone);
  CHECK(registry_.Snapshot().front().max_cpus == 2);
}

TEST_CASE_METHOD(RegistryTest,
                 "A bad value changes nothing in the job registry",
                 "[job][registry]") {
  const auto attachment = Attach("k1", "resnet");
  CHECK_THAT(registry_.Change("resnet", {.weight = 4, .max_cpus = -1}),
             HasCode(absl::StatusCode::kInvalidArgument));
  CHECK(WeightOf("k1") == 1);
}

TEST_CASE_METHOD(RegistryTest,
                 "A job's key wins over another job's name that is the same",
                 "[job][registry]") {
  const auto first = Attach("resnet", "first");
  const auto second = Attach("k2", "resnet");
  REQUIRE_THAT(registry_.Change("resnet", {.weight = 4}), IsOk());
  CHECK(WeightOf("resnet") == 4);
  CHECK(WeightOf("k2") == 1);
}

TEST_CASE_METHOD(RegistryTest,
                 "The job registry refuses a name that several jobs have",
                 "[job][registry]") {
  const auto first = Attach("k1", "resnet");
  const auto second = Attach("k2", "resnet");
  const absl::Status status = registry_.Change("resnet", {.weight = 4});
  CHECK_THAT(status, HasCode(absl::StatusCode::kFailedPrecondition));
  CHECK(status.message() ==
        "several jobs are called \"resnet\": name one by its key");
  CHECK(registry_.Peek("resnet", "").status() == status);
  REQUIRE_THAT(registry_.Change("k2", {.weight = 4}), IsOk());
  CHECK(WeightOf("k1") == 1);
  CHECK(WeightOf("k2") == 4);
}

TEST_CASE_METHOD(RegistryTest, "The job registry says which jobs there are",
                 "[job][registry]") {
  CHECK(registry_.Change("bert", {.weight = 4}).message() ==
        "no job is called \"bert\": there is none");
  const auto first = Attach("k1", "resnet");
  const auto second = Attach("k2", "gpt");
  const absl::Status status = registry_.Change("bert", {.weight = 4});
  CHECK_THAT(status, HasCode(absl::StatusCode::kNotFound));
  CHECK(status.message() == "no job is called \"bert\"; there is: gpt, resnet");
  CHECK(registry_.Peek("bert", "").status() == status);
  CHECK(registry_.Peek("gpt", "").status().message() ==
        "no loader of job gpt runs now: there is none");
}

TEST_CASE_METHOD(
    RegistryTest,
    "A job's settings end with the job and not with one attachment",
    "[job][registry]") {
  auto attachment = Attach("k1", "resnet");
  const schedule::Flow flow = reads_.told.begin()->first;
  REQUIRE_THAT(registry_.Change("k1", {.weight = 4, .max_read = 1e6}), IsOk());
  const auto another = Attach("k1", "resnet", /*pid=*/2);
  CHECK(WeightOf("k1") == 4);
  attachment.reset();
  CHECK_FALSE(reads_.told[flow].forgotten);
}

TEST_CASE_METHOD(RegistryTest, "The job registry forgets an ended job",
                 "[job][registry]") {
  auto attachment = Attach("k1", "resnet");
  const schedule::Flow flow = reads_.told.begin()->first;
  REQUIRE_THAT(registry_.Change("k1", {.weight = 4}), IsOk());
  attachment.reset();
  CHECK(reads_.told[flow].forgotten);
  CHECK(cpus_.told[flow].forgotten);
  attachment = Attach("k1", "resnet");
  CHECK(WeightOf("k1") == 1);
}

// Detach() ends the job although its attachment still exists, because a call
// for the attachment may hang.
TEST_CASE_METHOD(RegistryTest, "A job ends when its process is detached",
                 "[job][registry]") {
  auto attachment = Attach("k1", "resnet");
  const schedule::Flow flow = reads_.told.begin()->first;
  attachment->Detach();
  CHECK(registry_.Snapshot().empty());
  CHECK(reads_.told[flow].forgotten);
  // The call may have been charged to the job after its end.
  reads_.told[flow].forgotten = false;
  const auto successor = Attach("k1", "resnet");
  CHECK(successor->job() != flow);
  attachment.reset();
  CHECK(reads_.told[flow].forgotten);
  CHECK_FALSE(reads_.told[successor->job()].forgotten);
  CHECK(registry_.Snapshot().size() == 1);
}

TEST_CASE_METHOD(RegistryTest,
                 "A job's pending requests are shown until their notes end",
                 "[job][registry]") {
  const auto attachment = Attach("k1", "resnet");
  using Kind = PendingRequest::Kind;
  auto first = attachment->Note({.kind = Kind::kOpening, .uri = "/data"});
  const auto second = attachment->Note(
      {.kind = Kind::kReading, .uri = "/file", .since_nanos = 3});
  first->Describe("http://host/data", "http://host");
  std::vector<PendingRequest> pending = registry_.Snapshot().at(0).pending;
  REQUIRE(pending.size() == 2);
  CHECK(pending[0].uri == "http://host/data");
  CHECK(pending[0].host == "http://host");
  CHECK(pending[1].uri == "/file");
  CHECK(pending[1].since_nanos == 3);
  first.reset();
  pending = registry_.Snapshot().at(0).pending;
  REQUIRE(pending.size() == 1);
  CHECK(pending[0].kind == Kind::kReading);
}

}  // namespace
}  // namespace forebay::job

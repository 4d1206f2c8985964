#include "server/daemon/local_reads.h"

#include <errno.h>
#include <sys/syscall.h>

#include <future>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/memory_budget.h"
#include "server/executor/thread_pool_executor.h"
#include "server/storage/all_job_shares.h"
#include "server/storage/local/local_root.h"
#include "server/storage/local/ring.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/skip.h"
#include "tests/unit/server/base/no_threads.h"
#include "tests/unit/server/storage/local/refused_call.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::daemon {
namespace {

using tests::IsOk;
using tests::StartsWith;

using storage::local::LocalRoot;

using storage::local::ScratchDir;

// Reads the file, and returns the status of the read.
absl::Status TryToRead(LocalReads* reads,
                       const std::shared_ptr<const LocalRoot>& root,
                       const std::string& object) {
  std::promise<absl::Status> status;
  storage::ReadRequest request;
  request.root = root;
  request.object = object;
  request.version = root->Stat(object)->version();
  request.length = request.version.size;
  request.done = [&](const absl::StatusOr<storage::ReadResult>& result) {
    status.set_value(result.status());
  };
  reads->source()->Read({&request, 1});
  return status.get_future().get();
}

absl::Status TryToRead(LocalReads* reads) {
  const ScratchDir scratch;
  scratch.Write("a", "0123456789");
  return TryToRead(reads, *LocalRoot::Create(scratch.Open(), scratch.Path()),
                   "a");
}

TEST_CASE("Local reads go through a ring where there is one",
          "[daemon][local_reads]") {
  const absl::Status probe = storage::local::Ring::Probe();
  if (!probe.ok()) SKIP(probe);
  storage::AllJobShares shares;
  executor::ThreadPoolExecutor executor(1);
  base::MemoryBudget budget(std::uint64_t{1} << 30);
  LocalReads reads(proto::StorageConfig::default_instance(), &executor, &budget,
                   &shares);
  CHECK(reads.io_uring());
  CHECK_THAT(reads.refusal(), Catch::Equals(""));
  CHECK_THAT(TryToRead(&reads), IsOk());
}

TEST_CASE("Local reads go by threads where they are told so",
          "[daemon][local_reads]") {
  proto::StorageConfig config;
  config.set_io_uring("off");
  storage::AllJobShares shares;
  executor::ThreadPoolExecutor executor(1);
  base::MemoryBudget budget(std::uint64_t{1} << 30);
  LocalReads reads(config, &executor, &budget, &shares);
  CHECK_FALSE(reads.io_uring());
  CHECK_THAT(reads.refusal(), Catch::Equals(""));
  CHECK_THAT(TryToRead(&reads), IsOk());
}

TEST_CASE("Local reads say why they have no ring", "[daemon][local_reads]") {
  bool has_ring = true;
  std::string refusal;
  absl::Status read = absl::UnknownError("not read");
  std::thread([&] {
    storage::local::RefuseSystemCall(SYS_io_uring_setup, EPERM);
    proto::StorageConfig config;
    config.set_io_uring("auto");
    storage::AllJobShares shares;
    executor::ThreadPoolExecutor executor(1);
    base::MemoryBudget budget(std::uint64_t{1} << 30);
    LocalReads reads(config, &executor, &budget, &shares);
    has_ring = reads.io_uring();
    refusal = reads.refusal();
    read = TryToRead(&reads);
  }).join();
  CHECK_FALSE(has_ring);
  CHECK_THAT(refusal, StartsWith("io_uring is forbidden here"));
  CHECK_THAT(read, IsOk());
}

TEST_CASE("Caps of a job hold up its local reads", "[daemon][local_reads]") {
  for (const char* io_uring : {"auto", "off"}) {
    proto::StorageConfig config;
    config.set_io_uring(io_uring);
    storage::AllJobShares shares;
    executor::ThreadPoolExecutor executor(1);
    base::MemoryBudget budget(std::uint64_t{1} << 30);
    LocalReads reads(config, &executor, &budget, &shares);
    // The cap is in bytes per second. One read is free as a burst.
    shares.SetCap(/*job=*/0, 1e-3);
    CHECK_THAT(TryToRead(&reads), IsOk());
    absl::Status read = absl::UnknownError("not read");
    std::jthread held([&] { read = TryToRead(&reads); });
    while (reads.state().waiting == 0) std::this_thread::yield();
    CHECK(reads.state().in_flight == 0);
    shares.SetCap(/*job=*/0, std::numeric_limits<double>::infinity());
    held.join();
    CHECK_THAT(read, IsOk());
    CHECK(reads.state().waiting == 0);
  }
}

TEST_CASE("Local reads follow links to other folders",
          "[daemon][local_reads]") {
  const ScratchDir elsewhere;
  elsewhere.Write("a", "0123456789");
  const ScratchDir scratch;
  scratch.Link("b", elsewhere.Path());
  for (const char* io_uring : {"auto", "off"}) {
    proto::StorageConfig config;
    config.set_io_uring(io_uring);
    storage::AllJobShares shares;
    executor::ThreadPoolExecutor executor(1);
    base::MemoryBudget budget(std::uint64_t{1} << 30);
    LocalReads reads(config, &executor, &budget, &shares);
    std::vector<storage::local::ExtraRoot> extra;
    extra.push_back({elsewhere.Open(), elsewhere.Path()});
    const auto root =
        *LocalRoot::Create(scratch.Open(), scratch.Path(), std::move(extra));
    for (int i = 0; i < 2; ++i) {
      const absl::Status status = TryToRead(&reads, root, "b/a");
      CHECK_THAT(status, IsOk());
    }
    CHECK(root->crossings().Contains("b/a"));
  }
}

TEST_CASE("Local reads that can have no thread are refused",
          "[daemon][local_reads]") {
  for (const char* io_uring : {"auto", "off"}) {
    proto::StorageConfig config;
    config.set_io_uring(io_uring);
    storage::AllJobShares shares;
    executor::ThreadPoolExecutor executor(1);
    base::MemoryBudget budget(std::uint64_t{1} << 30);
    LocalReads reads(config, &executor, &budget, &shares);
    {
      const base::NoThreads refused;
      CHECK(TryToRead(&reads) ==
            absl::UnavailableError("a: is not read: the system gives the "
                                   "daemon no threads"));
    }
    CHECK_THAT(TryToRead(&reads), IsOk());
  }
}

}  // namespace
}  // namespace forebay::daemon

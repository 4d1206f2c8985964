#ifndef FOREBAY_TESTS_UNIT_SERVER_SESSION_SERVER_FIXTURE_H_
#define FOREBAY_TESTS_UNIT_SERVER_SESSION_SERVER_FIXTURE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/clock.h"
#include "server/base/event_loop.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/dataset/catalog.h"
#include "server/executor/thread_pool_executor.h"
#include "server/job/registry.h"
#include "server/pipeline/workspace.h"
#include "server/schedule/job_shares.h"
#include "server/session/server.h"
#include "server/storage/local/local_source.h"
#include "server/storage/root_opener.h"

namespace forebay::session {

constexpr int kSamples = 200;  // samples of each dataset

// Waits until the condition holds, without a timeout, because the test's own
// limit ends a hang.
void Until(const std::function<bool()>& condition);

// A root opener that refuses every place.
class Nowhere final : public storage::RootOpener {
 public:
  absl::StatusOr<std::shared_ptr<const storage::Root>> Open(
      const std::string& uri, const std::stop_token&) override {
    return absl::NotFoundError(uri + ": is nowhere");
  }
};

// A clock that can hold its callers: a scan at its beginning, and an epoch at
// its start.
class Gate final : public base::Clock {
 public:
  std::int64_t NowNanos() const override;

  // Holds the next `count` callers.
  void Hold(int count);
  void AwaitHeld(int count);
  void Open();

 private:
  mutable base::Mutex mutex_;
  mutable base::CondVar changed_;
  mutable int to_hold_ ABSL_GUARDED_BY(mutex_) = 0;
  mutable int held_ ABSL_GUARDED_BY(mutex_) = 0;
};

// A server, and all objects that it needs.
class ServerTest {
 protected:
  ServerTest();
  ~ServerTest();

  // Starts the server. All processes must have been forked before.
  void StartServer();
  // Returns the folder of a new dataset.
  std::string Folder(const std::string& name) const;

  // Runs `act` on the loop's thread, and waits for its end.
  void OnLoop(const std::function<void()>& act);
  // Waits until the loop has nothing to do, which a spinning loop never
  // reaches.
  void AwaitIdleLoop();
  // Advances the time by `nanos` nanoseconds, and lets the server notice it.
  void PassTime(std::int64_t nanos);
  // Returns the state of the only loader's stream.
  stream::StreamSnapshot StreamState() const;
  // Waits until everything that belonged to clients is released.
  void AwaitNothingLeft();

  std::string directory_;
  std::string socket_;
  std::size_t descriptors_before_ = 0;
  int epoll_ = -1;  // the loop's descriptor

  base::FakeClock clock_;
  Gate scan_gate_;
  Gate start_gate_;
  base::MemoryBudget budget_{std::uint64_t{256} << 20};
  std::vector<std::unique_ptr<pipeline::Workspace>> workspaces_;
  dataset::Catalog catalog_{
      {.index_directory = "",
       .scan_threads = 2,
       .wall_clock = [this] { return scan_gate_.NowNanos(); },
       .budget = &budget_}};
  std::unique_ptr<base::EventLoop> loop_;
  std::optional<executor::ThreadPoolExecutor> executor_;
  std::optional<storage::local::LocalSource> source_;
  schedule::JobShares unshared_;  // shares of reads
  std::optional<job::Registry> registry_;
  Nowhere nowhere_;
  std::unique_ptr<Server> server_;
  std::jthread running_;

 private:
  void FindEpoll();
};

}  // namespace forebay::session

#endif  // FOREBAY_TESTS_UNIT_SERVER_SESSION_SERVER_FIXTURE_H_

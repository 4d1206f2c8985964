#ifndef FOREBAY_SERVER_STORAGE_HTTP_ENGINE_H_
#define FOREBAY_SERVER_STORAGE_HTTP_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/storage/http/curl_multi.h"
#include "server/storage/http/message.h"
#include "server/storage/http/trusted_certificates.h"

namespace forebay::storage::http {

class Transfer;

struct EngineOptions {
  int kept_connections = 256;  // open ones that wait for their next request
  // Tells when timeouts end and timers are due.
  const base::Clock* clock = base::Clock::Monotonic();
  TrustedCertificates trusted = {};
};

// Makes HTTP/1.1 requests, any number at once, on one thread named forebay-net;
// connections stay open for later requests. The engine makes a request once:
// the caller retries. Redirects are answers like any other.
//
// Any thread may call Post; only the engine's own calls the rest, from tasks,
// timers and `done`s, which must not block. The caller owns the engine. Its
// destruction (on another thread) runs the posted tasks, drops the timers, and
// answers the requests that are left with kCancelled. Post, Start, At and
// Cancel do not block. Errors: Create (INTERNAL, RESOURCE_EXHAUSTED); those of
// requests are in their answers.
class Engine {
 public:
  using Id = std::uint64_t;

  static absl::StatusOr<std::unique_ptr<Engine>> Create(
      const EngineOptions& options = {});
  ~Engine();

  // Runs `task` on the engine's thread, soon, and reads the clock anew.
  void Post(std::function<void()> task);

  // Never calls `done` before it returns. The memory of `into` must last until
  // `done`, or until Cancel returns.
  Id Start(Request request);
  // Drops a request, if it is still in flight: no `done`.
  void Cancel(Id id);
  // Says, for people, what a request in flight whose answer has not begun waits
  // for. Returns "" for any other.
  std::string StageOf(Id id) const;
  // Runs `task` once the clock shows `nanos`.
  void At(std::int64_t nanos, std::function<void()> task);

  const base::Clock& clock() const { return *clock_; }

 private:
  Engine(const EngineOptions& options, std::unique_ptr<CurlMulti> multi);

  void Run();
  void RunPosted();
  void RunTimers();
  // Answers and forgets the transfers that curl is done with.
  void Collect();
  // Answers the requests that have waited too long.
  void GiveUpOverdue();
  void CancelAll();
  void Finish(Id id, Failure failure, std::string reason);
  // Forgets a transfer; the caller keeps or ends its handle.
  std::unique_ptr<Transfer> Take(Id id);
  int MillisToWait();

  const base::Clock* const clock_;
  const TrustedCertificates trusted_;
  const std::unique_ptr<CurlMulti> multi_;
  std::unordered_map<Id, std::unique_ptr<Transfer>> transfers_;
  std::vector<CURL*> idle_;    // handles to use again
  std::vector<Id> stillborn_;  // to be answered soon
  std::multimap<std::int64_t, std::function<void()>> timers_;
  Id last_id_ = 0;
  // No transfer is overdue before.
  std::int64_t look_nanos_ = INT64_MAX;
  bool over_ = false;

  base::Mutex mutex_;
  std::vector<std::function<void()>> posted_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_ENGINE_H_

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

// The limits of an engine, its clock, and the certificates that it trusts.
struct EngineOptions {
  // The number of idle connections that stay open for later requests.
  int idle_connections = 256;
  // The clock by which timeouts end and timers are due.
  const base::Clock* clock = base::Clock::Monotonic();
  TrustedCertificates trusted = {};
};

// Makes HTTP/1.1 requests, any number at once, on one thread named forebay-net.
// Connections stay open for later requests. The engine makes each request only
// once; the caller retries. Redirects are answers like any other.
//
// Any thread may call Post. The other functions may be called only on the
// engine's own thread, from tasks, timers and `done`s, which must not block.
//
// The caller owns the engine. Its destruction, on another thread, runs the
// posted tasks, drops the timers, and answers the remaining requests with
// kCancelled. Post, Start, At and Cancel do not block. Errors: Create gives
// INTERNAL and RESOURCE_EXHAUSTED; errors of requests are in their answers.
class Engine {
 public:
  using Id = std::uint64_t;

  static absl::StatusOr<std::unique_ptr<Engine>> Create(
      const EngineOptions& options = {});
  ~Engine();

  // Runs `task` on the engine's thread soon.
  void Post(std::function<void()> task);

  // Starts a request, and never calls its `done` before Start returns. The
  // memory of `into` lasts until `done`, or until Cancel returns.
  Id Start(HttpRequest request);
  // Drops a request that is in flight: its `done` is not called.
  void Cancel(Id id);
  // Returns in words, for messages, what a request in flight waits for. Returns
  // "" once its answer has begun, or if no such request is in flight.
  std::string StageOf(Id id) const;
  // Runs `task` once the clock shows `nanos`.
  void At(std::int64_t nanos, std::function<void()> task);

  const base::Clock& clock() const { return *clock_; }

 private:
  Engine(const EngineOptions& options, std::unique_ptr<CurlMulti> multi);

  // The loop of the engine's thread.
  void Run();
  void RunPosted();
  void RunTimers();
  // Answers and forgets the transfers that curl is done with.
  void Collect();
  // Answers the requests that have waited for too long.
  void GiveUpOverdue();
  // Answers all requests with kCancelled.
  void CancelAll();
  // Answers a request with a failure, and forgets it.
  void Finish(Id id, HttpFailure failure, std::string reason);
  // Forgets a transfer, and returns it. The caller keeps the transfer's handle
  // for reuse, or ends the handle.
  std::unique_ptr<Transfer> Take(Id id);
  // Returns the milliseconds until the next timer or timeout is due.
  int MillisToWait();

  const base::Clock* const clock_;
  const TrustedCertificates trusted_;
  const std::unique_ptr<CurlMulti> multi_;
  std::unordered_map<Id, std::unique_ptr<Transfer>> transfers_;
  // The handles of finished transfers, for reuse.
  std::vector<CURL*> idle_;
  // The requests that could not be started and are to be answered soon.
  std::vector<Id> stillborn_;
  std::multimap<std::int64_t, std::function<void()>> timers_;
  Id last_id_ = 0;
  // No transfer is overdue before this time.
  std::int64_t look_nanos_ = INT64_MAX;
  bool over_ = false;

  base::Mutex mutex_;
  std::vector<std::function<void()>> posted_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_ENGINE_H_

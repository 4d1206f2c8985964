#include "server/storage/http/engine.h"

#include <pthread.h>

#include <algorithm>
#include <string>
#include <utility>

#include "server/base/start_thread.h"
#include "server/base/status.h"
#include "server/storage/http/transfer.h"

// A turn of the loop runs the posted tasks and the timers that are due, and
// then waits in curl for sockets. Afterwards it answers the transfers that are
// finished or overdue. All callbacks run between curl's own calls, never within
// them, so they may start and cancel requests.
//
// A handle is used again only after a transfer that went well.

namespace forebay::storage::http {
namespace {

// The longest wait of a turn. Post and curl's sockets end it earlier.
constexpr std::int64_t kMaxWaitMillis = 60'000;

// Sets the certificates that a transfer trusts. A failure to set them shows
// when the server's certificate is checked.
void Trust(CURL* easy, const TrustedCertificates& trusted) {
  if (!trusted.file.empty())
    curl_easy_setopt(easy, CURLOPT_CAINFO, trusted.file.c_str());
  if (!trusted.directory.empty())
    curl_easy_setopt(easy, CURLOPT_CAPATH, trusted.directory.c_str());
}

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> Engine::Create(
    const EngineOptions& options) {
  FOREBAY_ASSIGN_OR_RETURN(auto multi,
                           CurlMulti::Create(options.idle_connections));
  std::unique_ptr<Engine> engine(new Engine(options, std::move(multi)));
  engine->thread_ = base::StartThread([raw = engine.get()] { raw->Run(); });
  if (!engine->thread_.joinable()) {
    return absl::ResourceExhaustedError(
        "the system gives the daemon no thread for HTTP requests: raise the "
        "limit on threads (ulimit -u, or pids.max of the cgroup)");
  }
  // The thread is named here, so that it has its name once Create returns.
  pthread_setname_np(engine->thread_.native_handle(), "forebay-net");
  return engine;
}

Engine::Engine(const EngineOptions& options, std::unique_ptr<CurlMulti> multi)
    : clock_(options.clock),
      trusted_(options.trusted),
      multi_(std::move(multi)) {}

Engine::~Engine() {
  {
    base::MutexLock lock(&mutex_);
    ending_ = true;
  }
  multi_->Wake();
  // Create destroys an engine whose thread the system refused.
  if (thread_.joinable()) thread_.join();
  for (CURL* const easy : idle_) curl_easy_cleanup(easy);
}

void Engine::Post(std::function<void()> task) {
  bool first = false;
  {
    base::MutexLock lock(&mutex_);
    first = posted_.empty();
    posted_.push_back(std::move(task));
  }
  if (first) multi_->Wake();
}

Engine::Id Engine::Start(HttpRequest request) {
  const Id id = ++last_id_;
  CURL* easy = nullptr;
  if (!idle_.empty()) {
    easy = idle_.back();
    idle_.pop_back();
    curl_easy_reset(easy);
  } else {
    easy = curl_easy_init();
  }
  auto& transfer = transfers_[id] =
      std::make_unique<Transfer>(id, std::move(request), easy, *clock_);
  if (easy != nullptr) Trust(easy, trusted_);
  if (over_ || easy == nullptr || !multi_->Add(easy)) {
    stillborn_.push_back(id);
    return id;
  }
  look_nanos_ = std::min(look_nanos_, transfer->LookAt(clock_->NowNanos()));
  return id;
}

void Engine::Cancel(Id id) {
  if (const auto transfer = Take(id)) curl_easy_cleanup(transfer->easy());
}

std::string Engine::StageOf(Id id) const {
  const auto found = transfers_.find(id);
  if (found == transfers_.end() || found->second->begun() ||
      found->second->easy() == nullptr)
    return "";
  return found->second->Stage();
}

void Engine::At(std::int64_t nanos, std::function<void()> task) {
  timers_.emplace(nanos, std::move(task));
}

void Engine::Run() {
  for (;;) {
    {
      base::MutexLock lock(&mutex_);
      over_ = ending_ && posted_.empty();
    }
    if (over_) break;
    RunPosted();
    RunTimers();
    multi_->Turn(MillisToWait());
    Collect();
    GiveUpOverdue();
  }
  CancelAll();
}

void Engine::RunPosted() {
  std::vector<std::function<void()>> tasks;
  {
    base::MutexLock lock(&mutex_);
    tasks.swap(posted_);
  }
  for (const std::function<void()>& task : tasks) task();
}

void Engine::RunTimers() {
  const std::int64_t now = clock_->NowNanos();
  while (!timers_.empty() && timers_.begin()->first <= now)
    timers_.extract(timers_.begin()).mapped()();
}

void Engine::Collect() {
  std::vector<std::pair<Id, CURLcode>> finished;
  for (auto one = multi_->NextFinished(); one.easy != nullptr;
       one = multi_->NextFinished()) {
    void* transfer = nullptr;
    curl_easy_getinfo(one.easy, CURLINFO_PRIVATE, &transfer);
    finished.emplace_back(static_cast<Transfer*>(transfer)->id(), one.code);
  }
  for (const auto& [id, code] : finished) {
    const auto found = transfers_.find(id);
    if (found == transfers_.end())
      continue;  // an earlier `done` has cancelled it
    found->second->Conclude(code);
    const std::unique_ptr<Transfer> transfer = Take(id);
    // The handle of a failed transfer keeps some of its state, and may refuse
    // to be set up again.
    if (code == CURLE_OK)
      idle_.push_back(transfer->easy());
    else
      curl_easy_cleanup(transfer->easy());
    transfer->Deliver();
  }
  for (const Id id : std::exchange(stillborn_, {}))
    Finish(id, HttpFailure::kInvalid, "no memory for another request");
}

void Engine::GiveUpOverdue() {
  const std::int64_t now = clock_->NowNanos();
  if (now < look_nanos_) return;
  look_nanos_ = INT64_MAX;
  std::vector<std::pair<Id, bool>> overdue;
  for (const auto& [id, transfer] : transfers_) {
    const std::int64_t at = transfer->OverdueAt(now);
    if (at <= now)
      overdue.emplace_back(id, transfer->begun());
    else
      look_nanos_ = std::min(look_nanos_, transfer->LookAt(now));
  }
  for (const auto& [id, begun] : overdue)
    Finish(id, begun ? HttpFailure::kStalled : HttpFailure::kTimeout,
           begun ? "the answer stalled" : "no answer came in time");
}

void Engine::CancelAll() {
  while (!transfers_.empty())
    Finish(transfers_.begin()->first, HttpFailure::kCancelled,
           "the daemon is shutting down");
}

void Engine::Finish(Id id, HttpFailure failure, std::string reason) {
  const std::unique_ptr<Transfer> transfer = Take(id);
  if (transfer == nullptr) return;
  curl_easy_cleanup(transfer->easy());
  transfer->GiveUp(failure, std::move(reason));
  transfer->Deliver();
}

std::unique_ptr<Transfer> Engine::Take(Id id) {
  const auto found = transfers_.find(id);
  if (found == transfers_.end()) return nullptr;
  std::unique_ptr<Transfer> transfer = std::move(found->second);
  transfers_.erase(found);
  if (transfer->easy() != nullptr) multi_->Remove(transfer->easy());
  return transfer;
}

int Engine::MillisToWait() {
  if (!stillborn_.empty()) return 0;
  {
    base::MutexLock lock(&mutex_);
    if (ending_) return 0;  // the wake-up may have been spent already
  }
  std::int64_t next = look_nanos_;
  if (!timers_.empty()) next = std::min(next, timers_.begin()->first);
  const std::int64_t now = clock_->NowNanos();
  if (next <= now) return 0;
  // The wait is rounded up: a wake-up before the time would make the loop spin.
  return static_cast<int>(
      std::min((next - now - 1) / 1'000'000 + 1, kMaxWaitMillis));
}

}  // namespace forebay::storage::http

#ifndef FOREBAY_SERVER_STORAGE_HTTP_CLIENT_H_
#define FOREBAY_SERVER_STORAGE_HTTP_CLIENT_H_

#include <climits>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "server/storage/http/authorizer.h"
#include "server/storage/http/engine.h"
#include "server/storage/http/ledger.h"
#include "server/storage/http/message.h"
#include "server/storage/http/retry_policy.h"

namespace forebay::storage::http {

// Attempts of a call that a client waits for, such as those that open a
// dataset: half a minute of faults, or less, is an error.
inline constexpr int kAwaitedAttempts = 8;

// A request, and the rules for a good answer.
struct Call {
  Request request;  // without `done`
  Authorizer* authorizer = nullptr;
  // Judges an answer with a status of success, whole or too long. After
  // UNAVAILABLE and DATA_LOSS, which may pass, the request is made again. If
  // empty, a whole answer is good. The message gives the reason only.
  std::function<absl::Status(const Answer&)> judge;
  // Returns the URL that a redirect (3xx) leads to, or an error. The request is
  // made there, without the authorizer's headers, as a part of the same
  // attempt: the answer's time to the first byte is that of all of it. None
  // leads from https to http. If empty, redirects are errors.
  std::function<absl::StatusOr<std::string>(const Answer&)> follow;
  // Returns the error of an answer that is no success. If empty, that is
  // ErrorOf's.
  std::function<absl::Status(const Answer&)> fault;
  std::function<void(absl::StatusOr<Answer>)> done;
  // Sees each answer, good or bad, before `done`; may be empty. Must not call
  // the client.
  std::function<void(const Answer&)> saw;
  int attempts = INT_MAX;  // at most, where the policy allows more

  // These are for the ledger.
  std::uint64_t job = 0;
  RequestKind kind = RequestKind::kOther;
  bool hedge = false;  // made because another request is slow
};

// Repeats calls until they have a good answer, as a RetryPolicy says. All
// requests of one host go through one client, so that its retries have one
// budget.
//
// Any thread but the engine's may call Await; only the engine's calls the rest.
// The engine must outlive the client, and callers must be done before it is
// destroyed. Destruction happens on another thread, and answers the calls that
// are left with CANCELLED. Await blocks, nothing else does. Errors of calls:
// those of ErrorOf, of their judge and of their authorizer.
class Client {
 public:
  using Id = std::uint64_t;

  Client(Engine* engine, const RetryOptions& options, std::uint64_t seed);
  ~Client();

  // Never calls `done` before it returns.
  Id Start(Call call);
  // Drops a call: no `done`, and no more writes to its memory.
  void Cancel(Id id);

  // Makes the call, without its `done`, and waits for its end. Returns
  // CANCELLED soon after `stop` is requested.
  absl::StatusOr<Answer> Await(Call call, const std::stop_token& stop = {});

  Engine& engine() const { return *engine_; }
  // Returns the number of attempts so far beyond the first of their calls.
  std::uint64_t retries() const { return retries_; }
  // Counts all requests that were made. Any thread may use it.
  const Ledger& ledger() const { return ledger_; }
  Ledger& ledger() { return ledger_; }

 private:
  struct Calling {
    Id id = 0;
    Call call;
    int attempts = 0;
    Authorizer::Headers headers;   // of the authorizer
    bool refused = false;          // the server did not accept headers
    int redirects = 0;             // of this attempt
    std::int64_t asked_nanos = 0;  // when it began
    std::int64_t led_nanos = 0;    // from then until the last redirect
    Engine::Id request = 0;        // under way; 0: none
  };

  void Authorize(const std::shared_ptr<Calling>& calling);
  void Attempt(const std::shared_ptr<Calling>& calling);
  void Send(const std::shared_ptr<Calling>& calling, Request request);
  // Returns whether the attempt goes on elsewhere; sets `error` if a redirect
  // leads nowhere.
  bool Follows(const std::shared_ptr<Calling>& calling, const Answer& answer,
               absl::Status* error);
  void OnAnswer(const std::shared_ptr<Calling>& calling, Answer answer);
  absl::Status Judge(const Calling& calling, const Answer& answer) const;
  // Returns whether other headers may do better, for the first time.
  bool MayAuthorizeAgain(Calling* calling, const Answer& answer) const;
  void OnError(const std::shared_ptr<Calling>& calling, absl::Status error,
               std::int64_t asked_nanos);
  void Finish(const std::shared_ptr<Calling>& calling,
              absl::StatusOr<Answer> result);

  Engine* const engine_;
  RetryPolicy policy_;
  Ledger ledger_;
  Id last_id_ = 0;
  std::uint64_t retries_ = 0;
  std::unordered_map<Id, std::shared_ptr<Calling>> calls_;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_CLIENT_H_

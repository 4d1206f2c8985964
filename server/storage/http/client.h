#ifndef FOREBAY_SERVER_STORAGE_HTTP_CLIENT_H_
#define FOREBAY_SERVER_STORAGE_HTTP_CLIENT_H_

#include <climits>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "server/storage/http/authorizer.h"
#include "server/storage/http/engine.h"
#include "server/storage/http/ledger.h"
#include "server/storage/http/message.h"
#include "server/storage/http/retry_policy.h"

namespace forebay::storage::http {

// How long a call goes on while no byte of an answer has come to it, over all
// its attempts, from the begin of the first one on. Once a byte has come, the
// number of attempts alone decides.
struct Patience {
  // If no byte of an answer to any other call has come from the host, either.
  std::int64_t silent_host_nanos = INT64_MAX;
  // If some has. At least as long.
  std::int64_t silent_call_nanos = INT64_MAX;
};

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
  // Sees each answer, good or bad, before `done`, and the number of the attempt
  // that it answers, from 1 on; may be empty. Must not call the client.
  std::function<void(const Answer&, int attempt)> saw;
  // Called when an attempt has failed and the next one is to begin later; may
  // be empty. Must not call the client.
  std::function<void()> paused;
  // Called when that time has come: Continue then begins the attempt. If empty,
  // the attempt begins by itself. May call nothing of the client but Continue.
  std::function<void()> ready;
  // The most attempts, where the policy allows more. While no byte has come,
  // the patience decides instead, if there is one.
  int attempts = INT_MAX;
  Patience patience;

  // These are for the ledger.
  std::uint64_t job = 0;
  RequestKind kind = RequestKind::kOther;
  bool hedge = false;  // made because another request is slow
};

// Repeats calls until they have a good answer, as a RetryPolicy says. All
// requests go through one client, which has a policy for each host, so that the
// retries of one host have one budget and take nothing from another's. A call
// counts for the host that its own URL names, wherever redirects lead.
//
// Only the engine's thread uses it, but for what is said otherwise. The engine
// must outlive the client. Destruction happens on another thread, and answers
// the calls that are left with CANCELLED. Nothing else blocks. Errors of calls:
// those of ErrorOf, of their judge and of their authorizer; UNAVAILABLE, with
// the host, the seconds and the last fault, where the patience has ended.
class Client {
 public:
  using Id = std::uint64_t;

  Client(Engine* engine, const RetryOptions& options, std::uint64_t seed);
  ~Client();

  // Never calls `done` before it returns.
  Id Start(Call call);
  // Drops a call: no `done`, and no more writes to its memory.
  void Cancel(Id id);

  // Begins the next attempt of a call that is ready for it.
  void Continue(Id id);
  // Returns when a byte of an answer to the call came last, by the engine's
  // clock; INT64_MIN if none came yet.
  std::int64_t HeardNanos(Id id) const;
  // Returns whether a request of the call is in flight, to which no byte of an
  // answer has come.
  bool IsUnanswered(Id id) const;
  // Takes a retry off the budget of the call's host for a request that is made
  // beside the call. Returns false if there may be none now.
  bool MayRepeat(Id id);

  // Returns the number of hosts that the client remembers.
  std::size_t hosts() const { return hosts_.size(); }

  Engine& engine() const { return *engine_; }
  // Returns the number of attempts so far beyond the first of their calls.
  std::uint64_t retries() const { return retries_; }
  // Counts all requests that were made. Any thread may use it.
  const Ledger& ledger() const { return ledger_; }
  Ledger& ledger() { return ledger_; }

 private:
  struct Host {
    std::string origin;
    RetryPolicy policy;
    // When a byte of an answer came last, without those of calls under way.
    std::int64_t heard_nanos = INT64_MIN;
  };
  struct Calling {
    Id id = 0;
    Call call;
    std::shared_ptr<Host> host;
    int attempts = 0;
    Authorizer::Headers headers;   // of the authorizer
    bool refused = false;          // the server did not accept headers
    int redirects = 0;             // of this attempt
    std::int64_t asked_nanos = 0;  // when it began
    std::int64_t led_nanos = 0;    // from then until the last redirect
    Engine::Id request = 0;        // under way; 0: none
    std::optional<std::int64_t> first_asked_nanos;  // of the first attempt
    bool is_answered = false;  // a byte has come that was no redirect's
    std::string fault;         // of the last attempt that failed
    // When a byte of an answer came last: to the request under way, and to
    // those before it.
    std::int64_t heard_nanos = INT64_MIN;
    std::int64_t heard_before_nanos = INT64_MIN;
  };

  const Calling* Find(Id id) const;
  std::shared_ptr<Host> FindHost(const std::string& url);
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
  // Returns when the next attempt begins; nullopt if there is none.
  std::optional<std::int64_t> NextAttempt(const Calling& calling,
                                          std::int64_t asked_nanos);
  // The pause after an attempt is over.
  void Repeat(const std::shared_ptr<Calling>& calling);

  // Whether a byte of an answer, and not of a redirect, has come to the call.
  static bool IsAnswered(const Calling& calling) {
    return calling.is_answered || calling.heard_nanos != INT64_MIN;
  }
  // Returns when the call's patience ends; INT64_MAX if it never does.
  std::int64_t PatienceEnd(const Calling& calling) const;
  // Ends the call at that time, if no byte has come until then.
  void WatchSilence(const std::shared_ptr<Calling>& calling);
  absl::Status SilenceError(const Calling& calling,
                            const std::string& reason) const;
  void Finish(const std::shared_ptr<Calling>& calling,
              absl::StatusOr<Answer> result);

  Engine* const engine_;
  const RetryOptions options_;
  const std::uint64_t seed_;
  Ledger ledger_;
  Id last_id_ = 0;
  std::uint64_t retries_ = 0;
  std::unordered_map<Id, std::shared_ptr<Calling>> calls_;
  std::unordered_map<std::string, std::shared_ptr<Host>> hosts_;  // by origin
  std::size_t prune_at_;  // so many hosts
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_CLIENT_H_

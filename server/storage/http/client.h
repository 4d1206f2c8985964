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
#include "server/storage/http/message.h"
#include "server/storage/http/request_ledger.h"
#include "server/storage/http/retry_policy.h"

namespace forebay::storage::http {

// Says for how long a call goes on without any byte of an answer. The time runs
// from the beginning of the first attempt, over all attempts. Once a byte has
// come, only the number of attempts limits the call.
struct Patience {
  // The limit in nanoseconds while the host answers no other call either.
  std::int64_t silent_host_nanos = INT64_MAX;
  // The limit in nanoseconds if the host has answered other calls meanwhile. At
  // least `silent_host_nanos`.
  std::int64_t silent_call_nanos = INT64_MAX;
};

// A request, and the rules for a good answer to it.
struct Call {
  HttpRequest request;  // its `done` is empty
  Authorizer* authorizer = nullptr;
  // Judges an answer with a status of success whose body came completely, or
  // was too long (HttpFailure::kTooLong). If `judge` returns an error for which
  // RetryPolicy::MayPass is true, such as DATA_LOSS, the request is made again.
  // The error's message gives only the reason. If `judge` is empty, every whole
  // answer with a status of success is good.
  std::function<absl::Status(const HttpResponse&)> judge;
  // Returns the URL that a redirect (3xx) leads to, or an error. The request is
  // made there as a part of the same attempt, without the authorizer's headers.
  // HttpResponse::first_byte_nanos then counts from the beginning of the
  // attempt. A redirect from https to http is an error. If `follow` is empty,
  // all redirects are errors.
  std::function<absl::StatusOr<std::string>(const HttpResponse&)> follow;
  // Returns the error of an answer whose status is not a success. If `fault` is
  // empty, ErrorOf is used.
  std::function<absl::Status(const HttpResponse&)> fault;
  // Receives the good answer, or the error.
  std::function<void(absl::StatusOr<HttpResponse>)> done;
  // Sees each answer, good or bad, before `done`, with the number of its
  // attempt, from 1 on. May be empty. Must not call the client.
  std::function<void(const HttpResponse&, int attempt)> saw;
  // Is called when an attempt has failed and the next one begins later. May be
  // empty. Must not call the client.
  std::function<void()> paused;
  // Is called when the time for the next attempt has come. The attempt then
  // waits for a call of Client::Continue. If `ready` is empty, the attempt
  // begins without that call. `ready` may call no other method of the client.
  std::function<void()> ready;
  // The most attempts; the host's RetryPolicy may allow fewer. While no byte
  // has come, `patience` limits the call instead, if it is set.
  int attempts = INT_MAX;
  Patience patience;

  // The RequestLedger counts the requests under this job and kind.
  std::uint64_t job = 0;
  RequestKind kind = RequestKind::kOther;
  // Whether the request is made because another one is slow.
  bool hedge = false;
};

// Repeats calls until they have a good answer, as a RetryPolicy says. All
// requests go through one client, which has a policy for each host. The retries
// to one host share a budget, and take nothing from the budgets of other hosts.
// A call belongs to the host that its own URL names, wherever redirects lead.
//
// Only the engine's thread uses it, except where a method says otherwise. The
// engine outlives the client. Destruction happens on another thread, and ends
// the remaining calls with CANCELLED; nothing else blocks.
//
// Errors of calls are those of ErrorOf, of their judge and of their authorizer.
// When a call's patience has ended, its error is UNAVAILABLE, with the host,
// the seconds and the last fault.
class Client {
 public:
  using Id = std::uint64_t;

  Client(Engine* engine, const RetryOptions& options, std::uint64_t seed);
  ~Client();

  // Starts a call, and never calls its `done` before Start returns.
  Id Start(Call call);
  // Drops a call: its `done` is not called, and its memory is not written to
  // any more.
  void Cancel(Id id);

  // Begins the next attempt of a call that is ready for it.
  void Continue(Id id);
  // Returns the time, by the engine's clock, of the last byte of an answer to
  // the call; INT64_MIN if none has come.
  std::int64_t HeardNanos(Id id) const;
  // Whether a request of the call is in flight and no byte of its answer has
  // come.
  bool IsUnanswered(Id id) const;
  // Takes a retry off the budget of the call's host, for a request that is made
  // in addition to the call's own. Returns false if the budget has no retry
  // now.
  bool MayRepeat(Id id);

  // Returns the number of hosts that the client remembers.
  std::size_t hosts() const { return hosts_.size(); }

  Engine& engine() const { return *engine_; }
  // Returns the number of attempts so far that were not the first of their
  // call.
  std::uint64_t retries() const { return retries_; }
  // Returns the counts of all requests that were made. Any thread may use it.
  const RequestLedger& ledger() const { return ledger_; }
  RequestLedger& ledger() { return ledger_; }

 private:
  // A host, and what all calls to it share.
  struct Host {
    std::string origin;
    RetryPolicy policy;
    // The time of the last byte of an answer to a request that has ended.
    // Calling::heard_nanos has the time of the request under way.
    std::int64_t heard_nanos = INT64_MIN;
  };
  // A call that has not ended.
  struct Calling {
    Id id = 0;
    Call call;
    std::shared_ptr<Host> host;
    int attempts = 0;
    // The headers that the authorizer gave.
    Authorizer::Headers headers;
    // Whether the server has refused the authorizer's headers once.
    bool refused = false;
    // The number of redirects in this attempt.
    int redirects = 0;
    // The time at which this attempt began.
    std::int64_t asked_nanos = 0;
    // The nanoseconds from `asked_nanos` until the last redirect.
    std::int64_t led_nanos = 0;
    // The request under way; 0 if there is none.
    Engine::Id request = 0;
    // The time at which the first attempt began.
    std::optional<std::int64_t> first_asked_nanos;
    // Whether an earlier request got a byte of an answer that was not a
    // redirect.
    bool is_answered = false;
    // The reason why the last attempt failed.
    std::string fault;
    // The times of the last byte of an answer to the request under way, and to
    // the requests before it; INT64_MIN if none came.
    std::int64_t heard_nanos = INT64_MIN;
    std::int64_t heard_before_nanos = INT64_MIN;
  };

  const Calling* Find(Id id) const;
  // Returns the host of the URL, and makes it if there is none. Forgets unused
  // hosts now and then.
  std::shared_ptr<Host> FindHost(const std::string& url);
  // Authorize, Attempt, Send: the steps of an attempt, in this order.
  void Authorize(const std::shared_ptr<Calling>& calling);
  void Attempt(const std::shared_ptr<Calling>& calling);
  void Send(const std::shared_ptr<Calling>& calling, HttpRequest request);
  // If the answer is a redirect, follows it within the attempt and returns
  // true. Sets `*error` and returns false if the redirect may not be followed.
  bool Follows(const std::shared_ptr<Calling>& calling,
               const HttpResponse& answer, absl::Status* error);
  // Handles the answer to a request: ends the call, follows a redirect, or
  // repeats the request.
  void OnAnswer(const std::shared_ptr<Calling>& calling, HttpResponse answer);
  // Returns the error of the answer, by the call's own rules and by ErrorOf.
  absl::Status Judge(const Calling& calling, const HttpResponse& answer) const;
  // Whether an attempt with other headers may succeed. True at most once for
  // each call.
  bool MayAuthorizeAgain(Calling* calling, const HttpResponse& answer) const;
  // After an error for which RetryPolicy::MayPass is true, sets a timer for the
  // next attempt. After any other error, ends the call.
  void OnError(const std::shared_ptr<Calling>& calling, absl::Status error,
               std::int64_t asked_nanos);
  // Returns the time at which the next attempt begins; nullopt if there is
  // none.
  std::optional<std::int64_t> NextAttempt(const Calling& calling,
                                          std::int64_t asked_nanos);
  // Ends the pause before an attempt.
  void Repeat(const std::shared_ptr<Calling>& calling);

  // Whether the call has received a byte of an answer that is not a redirect.
  static bool IsAnswered(const Calling& calling) {
    return calling.is_answered || calling.heard_nanos != INT64_MIN;
  }
  // Returns the time at which the call's patience ends; INT64_MAX if it never
  // does.
  std::int64_t PatienceEnd(const Calling& calling) const;
  // Sets a timer that ends the call when its patience ends, unless a byte has
  // come by then.
  void WatchSilence(const std::shared_ptr<Calling>& calling);
  // Returns the error of a call whose patience has ended.
  absl::Status SilenceError(const Calling& calling,
                            const std::string& reason) const;
  void Finish(const std::shared_ptr<Calling>& calling,
              absl::StatusOr<HttpResponse> result);

  Engine* const engine_;
  const RetryOptions options_;
  const std::uint64_t seed_;
  RequestLedger ledger_;
  Id last_id_ = 0;
  std::uint64_t retries_ = 0;
  std::unordered_map<Id, std::shared_ptr<Calling>> calls_;
  // The hosts by origin (OriginOf).
  std::unordered_map<std::string, std::shared_ptr<Host>> hosts_;
  // The number of hosts at which the client forgets unused hosts.
  std::size_t prune_at_;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_CLIENT_H_

#ifndef FOREBAY_SERVER_STORAGE_HTTP_HEDGED_CLIENT_H_
#define FOREBAY_SERVER_STORAGE_HTTP_HEDGED_CLIENT_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/schedule/stall_threshold.h"
#include "server/storage/http/client.h"
#include "server/storage/http/hedge_policy.h"
#include "server/storage/http/message.h"

namespace forebay::storage::http {

// Makes calls of a Client. If an answer does not begin in time, the request is
// made once more beside the first, as a HedgePolicy says. The good answer that
// begins first is taken, and the other request is dropped. Both requests have
// the same `into`; only the taken answer is written to it.
//
// Only the engine's thread uses and destroys it; any thread may make it. The
// client outlives it. Destruction drops the calls that are left. Never blocks.
// Errors are those of the client; if both requests fail, the error is that of
// the first one.
class HedgedClient {
 public:
  using Id = std::uint64_t;

  HedgedClient(Client* client, const HedgeOptions& options);
  ~HedgedClient();
  HedgedClient(const HedgedClient&) = delete;
  HedgedClient& operator=(const HedgedClient&) = delete;

  // Starts `call`, whose `begins` and `saw` are empty. `paused` is called when
  // neither of the two requests is in flight. Never calls `done` before Start
  // returns.
  Id Start(Call call);
  // Continue and HeardNanos do what Client's functions of these names do, for
  // both requests.
  void Continue(Id id);
  std::int64_t HeardNanos(Id id) const;
  // Drops a call: its `done` is not called, and its memory is not written to
  // any more.
  void Cancel(Id id);

  // Return the number of answers so far, and how many of them say that the
  // server is overloaded (429 and 503). busy() counts only answers to first
  // attempts: a repeated refusal tells nothing new.
  std::uint64_t answers() const { return answers_; }
  std::uint64_t busy() const { return busy_; }
  // Returns the median time to the first byte, or 0 if it is unknown.
  std::int64_t usual_nanos() const { return policy_.UsualNanos(); }
  // Returns the nanoseconds after which a call that brings nothing counts as
  // stalled.
  std::int64_t stall_nanos() const { return stall_threshold_.nanos(); }

 private:
  enum class Side { kFirst, kSecond };
  // A call, and its one or two requests.
  struct Pair {
    Id id = 0;
    Call call;
    std::function<void(absl::StatusOr<HttpResponse>)> done;
    // The requests under way; 0 if there is none.
    Client::Id first = 0;
    Client::Id second = 0;
    // Whether the first request waits for its next attempt.
    bool first_pauses = false;
    // Whether neither request is in flight, and `paused` was called.
    bool is_paused = false;
    // Whether the pair is in `watched_`.
    bool is_watched = false;
    // The request whose answer has begun.
    std::optional<Side> answering_side;
    // The error of the first request, while the second may still succeed.
    absl::Status failed;
  };
  // A pair whose answer is late at `due_nanos`.
  struct Watched {
    std::int64_t due_nanos;
    std::weak_ptr<Pair> pair;
  };

  // Takes note that the first request waits for its next attempt.
  void OnPaused(Pair* pair);
  // Takes note that the time of the first request's next attempt has come.
  void OnReady(const std::shared_ptr<Pair>& pair);
  // Calls the caller's `paused`, once for each pause.
  void TellPaused(Pair* pair);
  // Begins the next attempt of the first request.
  void GoOn(const std::shared_ptr<Pair>& pair);
  // Makes one of the two requests.
  Client::Id Launch(const std::shared_ptr<Pair>& pair, Side side);
  // Takes the answer that begins first. Returns whether this is the answer to
  // the request of `side`.
  bool Take(Pair* pair, Side side);
  // Handles the end of one of the two requests.
  void OnDone(const std::shared_ptr<Pair>& pair, Side side,
              absl::StatusOr<HttpResponse> result);
  // Whether the call goes on after one of its requests has failed.
  bool GoesOn(const std::shared_ptr<Pair>& pair, Side side,
              const absl::Status& error);
  void Finish(const std::shared_ptr<Pair>& pair,
              absl::StatusOr<HttpResponse> result);
  // Cancels the requests that are under way.
  void Drop(Pair* pair);
  // Counts an answer, and passes what it shows to the policy.
  void Saw(const HttpResponse& answer, int attempt);

  // Watches for the time at which the pair's answer is late.
  void Watch(const std::shared_ptr<Pair>& pair);
  void SetTimer();
  // Makes second requests for the pairs that are late.
  void LookAtLate();

  Client* const client_;
  HedgePolicy policy_;
  // The threshold is computed from the times to the first byte.
  schedule::StallThreshold stall_threshold_;
  Id last_id_ = 0;
  std::unordered_map<Id, std::shared_ptr<Pair>> pairs_;
  // The watched pairs, about in the order in which they are due.
  std::deque<Watched> watched_;
  // Tells timers whether this object still exists.
  const std::shared_ptr<const bool> here_ = std::make_shared<const bool>(true);
  bool timer_set_ = false;
  std::uint64_t answers_ = 0;
  std::uint64_t busy_ = 0;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_HEDGED_CLIENT_H_

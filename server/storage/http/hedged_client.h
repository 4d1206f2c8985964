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

// Makes calls of a Client. If an answer does not begin in time, makes the
// request again beside the first, as a HedgePolicy says. Takes the first good
// answer that begins, and drops the other request. Both have the same memory,
// and only the one that is taken writes to it.
//
// Used and destroyed on the engine's thread; may be made on any. Destruction
// drops the calls that are left. The client must outlive it. Never blocks.
// Errors: those of the client; if both requests fail, the last one's.
class HedgedClient {
 public:
  using Id = std::uint64_t;

  HedgedClient(Client* client, const HedgeOptions& options);
  ~HedgedClient();
  HedgedClient(const HedgedClient&) = delete;
  HedgedClient& operator=(const HedgedClient&) = delete;

  // `call` without `begins` and `saw`. Its `paused` means that neither of the
  // two requests is in flight. Never calls `done` before it returns.
  Id Start(Call call);
  // As Client says.
  void Continue(Id id);
  std::int64_t HeardNanos(Id id) const;
  // Drops a call: no `done`, and no more writes to its memory.
  void Cancel(Id id);

  // Return the number of answers so far, and of those to first attempts that
  // say that the server is overloaded: 429 and 503. An attempt that is refused
  // once more tells nothing new, and what is not answered at all is stalled.
  std::uint64_t answers() const { return answers_; }
  std::uint64_t busy() const { return busy_; }
  // Returns the usual time to the first byte, or 0 if unknown.
  std::int64_t usual_nanos() const { return policy_.UsualNanos(); }
  // Returns the time after which a call that brings nothing is stalled.
  std::int64_t stall_nanos() const { return stall_threshold_.nanos(); }

 private:
  enum class Side { kFirst, kSecond };
  struct Pair {
    Id id = 0;
    Call call;
    std::function<void(absl::StatusOr<Answer>)> done;
    Client::Id first = 0;  // under way; 0: not
    Client::Id second = 0;
    bool first_pauses = false;  // before its next attempt
    bool is_paused = false;     // and no second is in flight: `paused` was told
    bool is_watched = false;
    std::optional<Side> taken;  // whose answer has begun
    absl::Status failed;        // why the first one ended, if the second may do
  };
  struct Watched {
    std::int64_t due_nanos;
    std::weak_ptr<Pair> pair;
  };

  // The first request waits for its next attempt.
  void OnPaused(Pair* pair);
  // The time of that attempt has come.
  void OnReady(const std::shared_ptr<Pair>& pair);
  void TellPaused(Pair* pair);
  void GoOn(const std::shared_ptr<Pair>& pair);
  Client::Id Launch(const std::shared_ptr<Pair>& pair, Side side);
  bool Take(Pair* pair, Side side);
  void OnDone(const std::shared_ptr<Pair>& pair, Side side,
              absl::StatusOr<Answer> result);
  // Returns whether a call goes on after one of its requests failed.
  bool GoesOn(const std::shared_ptr<Pair>& pair, Side side,
              const absl::Status& error);
  void Finish(const std::shared_ptr<Pair>& pair, absl::StatusOr<Answer> result);
  void Drop(Pair* pair);
  void Saw(const Answer& answer, int attempt);

  void Watch(const std::shared_ptr<Pair>& pair);
  void SetTimer();
  void LookAtLate();

  Client* const client_;
  HedgePolicy policy_;
  schedule::StallThreshold stall_threshold_;  // of times to the first byte
  Id last_id_ = 0;
  std::unordered_map<Id, std::shared_ptr<Pair>> pairs_;
  std::deque<Watched> watched_;  // about in the order in which they are due
  // Tells timers whether this object still exists.
  const std::shared_ptr<const bool> here_ = std::make_shared<const bool>(true);
  bool timer_set_ = false;
  std::uint64_t answers_ = 0;
  std::uint64_t busy_ = 0;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_HEDGED_CLIENT_H_

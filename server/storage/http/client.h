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

// A request, and what makes its answer good.
struct Call {
  Request request;  // without `done`
  Authorizer* authorizer = nullptr;
  // Judges an answer with a status of success, whole or too long. UNAVAILABLE
  // and DATA_LOSS may pass, and the request is made again. Empty: good if
  // whole. The message gives the reason only.
  std::function<absl::Status(const Answer&)> judge;
  std::function<void(absl::StatusOr<Answer>)> done;
  // Sees each answer, good or bad, before `done`; may be empty. Must not call
  // the client.
  std::function<void(const Answer&)> saw;
  int attempts = INT_MAX;  // at most, where the policy allows more

  // For the ledger.
  std::uint64_t job = 0;
  RequestKind kind = RequestKind::kOther;
  bool hedge = false;  // it is made because another one is slow
};

// Makes calls until they are answered well, as a RetryPolicy says: all that one
// host asks for goes through one client, so that its retries have one budget.
//
// Await may be called from any thread but the engine's; everything else only on
// the engine's. The engine must outlive the client, and who calls must be done
// before it is destroyed, which happens on another thread and answers the calls
// that are left with CANCELLED. Await blocks, nothing else does. Errors of
// calls: those of ErrorOf, of their judge and of their authorizer.
class Client {
 public:
  using Id = std::uint64_t;

  Client(Engine* engine, const RetryOptions& options, std::uint64_t seed);
  ~Client();

  // Never calls `done` before it returns.
  Id Start(Call call);
  // Gives a call up: no `done`, and nothing writes to its memory any more.
  void Cancel(Id id);

  // Makes the call, whose `done` is not used, and waits for its end; CANCELLED
  // soon after `stop` is requested.
  absl::StatusOr<Answer> Await(Call call, const std::stop_token& stop = {});

  Engine& engine() const { return *engine_; }
  // Attempts beyond the first of their calls, so far.
  std::uint64_t retries() const { return retries_; }
  // Of all requests that were made. May be used on any thread.
  const Ledger& ledger() const { return ledger_; }
  Ledger& ledger() { return ledger_; }

 private:
  struct Calling {
    Id id = 0;
    Call call;
    int attempts = 0;
    std::string header;      // of the authorizer
    bool refused = false;    // the server did not accept a header
    Engine::Id request = 0;  // under way; 0: none
  };

  void Authorize(const std::shared_ptr<Calling>& calling);
  void Attempt(const std::shared_ptr<Calling>& calling);
  void OnAnswer(const std::shared_ptr<Calling>& calling, Answer answer);
  absl::Status Judge(const Calling& calling, const Answer& answer) const;
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

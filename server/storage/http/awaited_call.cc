#include "server/storage/http/awaited_call.h"

#include <climits>
#include <future>
#include <memory>
#include <utility>

namespace forebay::storage::http {
namespace {

// The requests of one call of Await. Posted tasks and timers share the object,
// which does nothing more once Await has returned. Only the engine's thread
// uses it, except for the constructor and `result`.
class AwaitedCall : public std::enable_shared_from_this<AwaitedCall> {
 public:
  AwaitedCall(Client* client, Call call)
      : client_(client), call_(std::move(call)) {
    if (call_.attempts != INT_MAX) return;
    is_patient_ = true;
    call_.attempts = kAwaitedAttempts;
    call_.patience = kAwaitedPatience;
  }

  std::future<absl::StatusOr<HttpResponse>> result() {
    return result_.get_future();
  }

  // Makes the first request, and sets the timer for the second.
  void Begin() {
    Call first = call_;
    first.done = [self =
                      shared_from_this()](absl::StatusOr<HttpResponse> answer) {
      self->OnFirst(std::move(answer));
    };
    first_ = client_->Start(std::move(first));
    if (!is_patient_) return;
    client_->engine().At(
        client_->engine().clock().NowNanos() + kAwaitedRepeatNanos,
        [weak = weak_from_this()] {
          if (const auto held = weak.lock()) held->Repeat();
        });
  }

  // Ends the wait with CANCELLED.
  void Stop() { End(absl::CancelledError("nobody waits for it any more")); }

 private:
  // Makes the request a second time if the first has no answer yet.
  void Repeat() {
    if (is_over_ || !client_->IsUnanswered(first_) ||
        !client_->MayRepeat(first_))
      return;
    Call second = call_;
    second.attempts = 1;
    second.patience = {};
    second.hedge = true;
    second.done =
        [self = shared_from_this()](absl::StatusOr<HttpResponse> answer) {
          self->OnSecond(std::move(answer));
        };
    second_ = client_->Start(std::move(second));
  }

  // Takes the answer to the first request. If the first failed while the second
  // is being answered, the wait goes on.
  void OnFirst(absl::StatusOr<HttpResponse> answer) {
    first_ = 0;
    // The answer to the second may be on its way.
    const bool waits = !answer.ok() && second_ != 0 &&
                       RetryPolicy::MayPass(answer.status()) &&
                       !client_->IsUnanswered(second_);
    if (!waits) return End(std::move(answer));
    fault_ = answer.status();
  }

  // Takes the answer to the second request, which is not repeated.
  void OnSecond(absl::StatusOr<HttpResponse> answer) {
    second_ = 0;
    if (answer.ok() || !RetryPolicy::MayPass(answer.status()))
      return End(std::move(answer));
    if (first_ == 0) End(fault_);
  }

  // Ends both requests, so that no judge is called any more, and gives the
  // result.
  void End(absl::StatusOr<HttpResponse> result) {
    if (std::exchange(is_over_, true)) return;
    for (const Client::Id id : {first_, second_})
      if (id != 0) client_->Cancel(id);
    result_.set_value(std::move(result));
  }

  Client* const client_;
  Call call_;
  bool is_patient_ = false;
  std::promise<absl::StatusOr<HttpResponse>> result_;
  // The requests under way; 0 if there is none.
  Client::Id first_ = 0;
  Client::Id second_ = 0;
  // The error of the first request.
  absl::Status fault_;
  bool is_over_ = false;
};

}  // namespace

absl::StatusOr<HttpResponse> Await(Client* client, Call call,
                                   const std::stop_token& stop) {
  const auto awaited = std::make_shared<AwaitedCall>(client, std::move(call));
  auto result = awaited->result();
  client->engine().Post([awaited] { awaited->Begin(); });
  const std::stop_callback on_stop(
      stop, [&] { client->engine().Post([awaited] { awaited->Stop(); }); });
  return result.get();
}

}  // namespace forebay::storage::http

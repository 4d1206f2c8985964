#include "server/storage/http/client.h"

#include <future>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/storage/http/answer_error.h"
#include "server/storage/http/url.h"

namespace forebay::storage::http {
namespace {

// Of one attempt.
constexpr int kMaxRedirects = 3;

}  // namespace

Client::Client(Engine* engine, const RetryOptions& options, std::uint64_t seed)
    : engine_(engine), policy_(options, seed, engine->clock().NowNanos()) {}

Client::~Client() {
  std::promise<void> over;
  engine_->Post([this, &over] {
    while (!calls_.empty())
      Finish(calls_.begin()->second,
             absl::CancelledError("the daemon is shutting down"));
    over.set_value();
  });
  over.get_future().wait();
}

Client::Id Client::Start(Call call) {
  const auto calling = std::make_shared<Calling>();
  calling->id = ++last_id_;
  calling->call = std::move(call);
  calls_.emplace(calling->id, calling);
  // Posted, since the authorizer may fail at once.
  engine_->Post([this, weak = std::weak_ptr<Calling>(calling)] {
    if (const auto held = weak.lock()) Authorize(held);
  });
  return calling->id;
}

void Client::Cancel(Id id) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  if (found->second->request != 0) engine_->Cancel(found->second->request);
  calls_.erase(found);
}

absl::StatusOr<Answer> Client::Await(Call call, const std::stop_token& stop) {
  std::promise<absl::StatusOr<Answer>> promise;
  Id id = 0;  // for the engine's thread
  bool over = false;
  const auto finish = [&promise, &over](absl::StatusOr<Answer> answer) {
    if (!std::exchange(over, true)) promise.set_value(std::move(answer));
  };
  call.done = finish;
  engine_->Post([this, &call, &id] { id = Start(std::move(call)); });
  absl::StatusOr<Answer> answer;
  {
    const std::stop_callback on_stop(stop, [&] {
      engine_->Post([this, &id, &finish] {
        Cancel(id);
        finish(absl::CancelledError("nobody waits for it any more"));
      });
    });
    answer = promise.get_future().get();
  }
  // The posted task refers to this call.
  if (stop.stop_requested()) {
    std::promise<void> passed;
    engine_->Post([&passed] { passed.set_value(); });
    passed.get_future().wait();
  }
  return answer;
}

void Client::Authorize(const std::shared_ptr<Calling>& calling) {
  ++calling->attempts;
  if (calling->call.authorizer == nullptr) return Attempt(calling);
  calling->call.authorizer->Authorize(
      calling->call.request, [this, weak = std::weak_ptr<Calling>(calling)](
                                 absl::StatusOr<Authorizer::Headers> headers) {
        const auto held = weak.lock();
        if (held == nullptr) return;
        // The authorizer has retried already.
        if (!headers.ok()) return Finish(held, headers.status());
        held->headers = *std::move(headers);
        Attempt(held);
      });
}

void Client::Attempt(const std::shared_ptr<Calling>& calling) {
  calling->redirects = 0;
  calling->asked_nanos = engine_->clock().NowNanos();
  calling->led_nanos = 0;
  Request request = calling->call.request;
  request.headers.insert(request.headers.end(), calling->headers.begin(),
                         calling->headers.end());
  Send(calling, std::move(request));
}

void Client::Send(const std::shared_ptr<Calling>& calling, Request request) {
  request.done = [this, weak = std::weak_ptr<Calling>(calling)](Answer answer) {
    if (const auto held = weak.lock()) OnAnswer(held, std::move(answer));
  };
  RequestCounts counts;
  counts.requests = 1;
  counts.retries = calling->attempts > 1 && calling->redirects == 0 ? 1 : 0;
  counts.hedges = calling->call.hedge && calling->redirects == 0 ? 1 : 0;
  ledger_.Book(calling->call.job, calling->call.kind, counts);
  calling->request = engine_->Start(std::move(request));
}

bool Client::Follows(const std::shared_ptr<Calling>& calling,
                     const Answer& answer, absl::Status* error) {
  if (!calling->call.follow || answer.failure != Failure::kNone ||
      answer.status < 300 || answer.status >= 400)
    return false;
  if (++calling->redirects > kMaxRedirects) {
    *error = absl::InvalidArgumentError("the server leads on and on");
    return false;
  }
  auto url = calling->call.follow(answer);
  if (!url.ok()) {
    *error = url.status();
    return false;
  }
  if (IsEncrypted(calling->call.request.url) && !IsEncrypted(*url)) {
    *error = absl::InvalidArgumentError(
        "the server leads from https to a place that is not encrypted");
    return false;
  }
  calling->led_nanos = engine_->clock().NowNanos() - calling->asked_nanos;
  Request request = calling->call.request;
  request.url = *std::move(url);
  Send(calling, std::move(request));
  return true;
}

absl::Status Client::Judge(const Calling& calling, const Answer& answer) const {
  const bool judged =
      answer.IsSuccess() && calling.call.judge &&
      (answer.failure == Failure::kNone || answer.failure == Failure::kTooLong);
  if (judged) {
    absl::Status verdict = calling.call.judge(answer);
    if (!verdict.ok()) return verdict;
  }
  const bool faulty = answer.failure == Failure::kNone && !answer.IsSuccess();
  return faulty && calling.call.fault ? calling.call.fault(answer)
                                      : ErrorOf(answer);
}

bool Client::MayAuthorizeAgain(Calling* calling, const Answer& answer) const {
  return answer.failure == Failure::kNone && !answer.IsSuccess() &&
         !calling->headers.empty() &&
         calling->call.authorizer->Refused(calling->headers, answer) &&
         !std::exchange(calling->refused, true);
}

void Client::OnAnswer(const std::shared_ptr<Calling>& calling, Answer answer) {
  calling->request = 0;
  absl::Status misled;
  if (Follows(calling, answer, &misled)) return;
  if (answer.first_byte_nanos > 0)
    answer.first_byte_nanos += calling->led_nanos;
  if (calling->call.saw) calling->call.saw(answer);
  absl::Status error = misled.ok() ? Judge(*calling, answer) : misled;
  RequestCounts counts;
  counts.failures = error.ok() || absl::IsCancelled(error) ? 0 : 1;
  counts.bytes = answer.filled + answer.body.size();
  ledger_.Book(calling->call.job, calling->call.kind, counts);
  if (error.ok()) return Finish(calling, std::move(answer));
  // A token may end earlier than it says; a new one decides.
  if (MayAuthorizeAgain(calling.get(), answer))
    error = absl::UnavailableError(error.message());
  OnError(calling, std::move(error), answer.retry_after_nanos);
}

void Client::OnError(const std::shared_ptr<Calling>& calling,
                     absl::Status error, std::int64_t asked_nanos) {
  if (!RetryPolicy::MayPass(error, calling->attempts) ||
      calling->attempts >= calling->call.attempts)
    return Finish(calling, std::move(error));
  const std::optional<std::int64_t> next = policy_.NextAttempt(
      calling->id, calling->attempts, asked_nanos, engine_->clock().NowNanos());
  if (!next.has_value()) {
    error = absl::Status(error.code(),
                         absl::StrCat(error.message(), ", after ",
                                      calling->attempts, " attempts"));
    return Finish(calling, std::move(error));
  }
  ++retries_;
  engine_->At(*next, [this, weak = std::weak_ptr<Calling>(calling)] {
    if (const auto held = weak.lock()) Authorize(held);
  });
}

void Client::Finish(const std::shared_ptr<Calling>& calling,
                    absl::StatusOr<Answer> result) {
  const auto held = calls_.extract(calling->id);  // keeps it alive
  if (calling->request != 0) engine_->Cancel(calling->request);
  if (calling->call.done) calling->call.done(std::move(result));
}

}  // namespace forebay::storage::http

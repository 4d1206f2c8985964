#include "server/storage/http/client.h"

#include <algorithm>
#include <future>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/storage/http/answer_error.h"
#include "server/storage/http/url.h"

// The life of a call: Start, then attempts until one is good. An attempt gets
// headers from the authorizer (Authorize), adds them to the request (Attempt),
// and sends it (Send). A redirect that the call follows sends the request
// again, within the attempt (Follows). The answer is judged (OnAnswer). After
// an error that may pass, the policy of the host names the time of the next
// attempt (NextAttempt).
//
// Callbacks hold weak references to the call: a call that was cancelled or has
// ended is gone from `calls_`, and its timers do nothing.
//
// Patience bounds the time that a call goes on without any byte of an answer. A
// timer checks the call when that time ends. If the time has become longer
// meanwhile, the timer is set again.

namespace forebay::storage::http {
namespace {

// The most redirects of one attempt.
constexpr int kMaxRedirects = 3;
// The last attempt that a call's patience allows begins this long before the
// patience ends, so that it may still be answered.
constexpr std::int64_t kLastAttemptNanos = 1'000'000'000;
// Unused hosts are forgotten when there are kPruneHosts hosts, or twice as many
// as were left the last time. A host is unused if it has no calls and its
// budget is full.
constexpr std::size_t kPruneHosts = 64;

}  // namespace

Client::Client(Engine* engine, const RetryOptions& options, std::uint64_t seed)
    : engine_(engine), options_(options), seed_(seed), prune_at_(kPruneHosts) {}

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
  calling->host = FindHost(calling->call.request.url);
  calls_.emplace(calling->id, calling);
  // The step is posted, since the authorizer may fail at once.
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

void Client::Continue(Id id) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  // The step is posted, since the authorizer may fail at once.
  engine_->Post([this, weak = std::weak_ptr<Calling>(found->second)] {
    if (const auto held = weak.lock()) Authorize(held);
  });
}

const Client::Calling* Client::Find(Id id) const {
  const auto found = calls_.find(id);
  return found == calls_.end() ? nullptr : found->second.get();
}

std::int64_t Client::HeardNanos(Id id) const {
  const Calling* const calling = Find(id);
  return calling == nullptr
             ? INT64_MIN
             : std::max(calling->heard_nanos, calling->heard_before_nanos);
}

bool Client::IsUnanswered(Id id) const {
  const Calling* const calling = Find(id);
  return calling != nullptr && calling->request != 0 && !IsAnswered(*calling);
}

bool Client::MayRepeat(Id id) {
  const Calling* const calling = Find(id);
  return calling != nullptr &&
         calling->host->policy.TryRepeat(engine_->clock().NowNanos());
}

std::shared_ptr<Client::Host> Client::FindHost(const std::string& url) {
  const std::int64_t now = engine_->clock().NowNanos();
  if (hosts_.size() >= prune_at_) {
    std::erase_if(hosts_, [now](const auto& entry) {
      return entry.second.use_count() == 1 &&
             entry.second->policy.IsUnused(now);
    });
    prune_at_ = std::max(kPruneHosts, 2 * hosts_.size());
  }
  std::string origin = OriginOf(url);
  std::shared_ptr<Host>& host = hosts_[origin];
  if (host == nullptr)
    host = std::make_shared<Host>(
        Host{std::move(origin), RetryPolicy(options_, seed_, now)});
  return host;
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
  HttpRequest request = calling->call.request;
  request.headers.insert(request.headers.end(), calling->headers.begin(),
                         calling->headers.end());
  Send(calling, std::move(request));
  if (calling->first_asked_nanos.has_value()) return;
  calling->first_asked_nanos = calling->asked_nanos;
  WatchSilence(calling);
}

void Client::Send(const std::shared_ptr<Calling>& calling,
                  HttpRequest request) {
  request.done = [this,
                  weak = std::weak_ptr<Calling>(calling)](HttpResponse answer) {
    if (const auto held = weak.lock()) OnAnswer(held, std::move(answer));
  };
  calling->heard_before_nanos =
      std::max(calling->heard_before_nanos,
               std::exchange(calling->heard_nanos, INT64_MIN));
  request.heard_nanos = &calling->heard_nanos;
  RequestCounts counts;
  counts.requests = 1;
  counts.retries = calling->attempts > 1 && calling->redirects == 0 ? 1 : 0;
  counts.hedges = calling->call.hedge && calling->redirects == 0 ? 1 : 0;
  ledger_.Book(calling->call.job, calling->call.kind, counts);
  calling->request = engine_->Start(std::move(request));
}

bool Client::Follows(const std::shared_ptr<Calling>& calling,
                     const HttpResponse& answer, absl::Status* error) {
  if (!calling->call.follow || answer.failure != HttpFailure::kNone ||
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
  HttpRequest request = calling->call.request;
  request.url = *std::move(url);
  Send(calling, std::move(request));
  return true;
}

absl::Status Client::Judge(const Calling& calling,
                           const HttpResponse& answer) const {
  const bool judged = answer.IsSuccess() && calling.call.judge &&
                      (answer.failure == HttpFailure::kNone ||
                       answer.failure == HttpFailure::kTooLong);
  if (judged) {
    absl::Status verdict = calling.call.judge(answer);
    if (!verdict.ok()) return verdict;
  }
  const bool faulty =
      answer.failure == HttpFailure::kNone && !answer.IsSuccess();
  return faulty && calling.call.fault ? calling.call.fault(answer)
                                      : ErrorOf(answer);
}

bool Client::MayAuthorizeAgain(Calling* calling,
                               const HttpResponse& answer) const {
  return answer.failure == HttpFailure::kNone && !answer.IsSuccess() &&
         !calling->headers.empty() &&
         calling->call.authorizer->Refused(calling->headers, answer) &&
         !std::exchange(calling->refused, true);
}

void Client::OnAnswer(const std::shared_ptr<Calling>& calling,
                      HttpResponse answer) {
  calling->request = 0;
  Host& host = *calling->host;
  host.heard_nanos = std::max(host.heard_nanos, calling->heard_nanos);
  absl::Status misled;
  if (Follows(calling, answer, &misled)) return;
  calling->is_answered |= calling->heard_nanos != INT64_MIN;
  if (answer.first_byte_nanos > 0)
    answer.first_byte_nanos += calling->led_nanos;
  if (calling->call.saw) calling->call.saw(answer, calling->attempts);
  absl::Status error = misled.ok() ? Judge(*calling, answer) : misled;
  RequestCounts counts;
  counts.failures = error.ok() || absl::IsCancelled(error) ? 0 : 1;
  counts.bytes = answer.filled + answer.body.size();
  ledger_.Book(calling->call.job, calling->call.kind, counts);
  if (error.ok()) return Finish(calling, std::move(answer));
  // A token may expire earlier than it says. An attempt with a new token
  // decides.
  if (MayAuthorizeAgain(calling.get(), answer))
    error = absl::UnavailableError(error.message());
  OnError(calling, std::move(error), answer.retry_after_nanos);
}

void Client::OnError(const std::shared_ptr<Calling>& calling,
                     absl::Status error, std::int64_t asked_nanos) {
  const bool passing = RetryPolicy::MayPass(error, calling->attempts);
  calling->fault = std::string(error.message());
  const auto next = passing ? NextAttempt(*calling, asked_nanos)
                            : std::optional<std::int64_t>();
  if (!next.has_value()) {
    if (passing && PatienceEnd(*calling) != INT64_MAX)
      error = SilenceError(*calling, calling->fault);
    else if (passing && calling->attempts < calling->call.attempts)
      error = absl::Status(error.code(),
                           absl::StrCat(error.message(), ", after ",
                                        calling->attempts, " attempts"));
    return Finish(calling, std::move(error));
  }
  ++retries_;
  engine_->At(*next, [this, weak = std::weak_ptr<Calling>(calling)] {
    if (const auto held = weak.lock()) Repeat(held);
  });
  if (calling->call.paused) calling->call.paused();
}

std::optional<std::int64_t> Client::NextAttempt(const Calling& calling,
                                                std::int64_t asked_nanos) {
  const std::int64_t now = engine_->clock().NowNanos();
  const std::int64_t end = PatienceEnd(calling);
  const std::int64_t latest = end == INT64_MAX ? end : end - kLastAttemptNanos;
  const bool is_last = end == INT64_MAX
                           ? calling.attempts >= calling.call.attempts
                           : now >= latest;
  if (is_last) return std::nullopt;
  const auto next = calling.host->policy.NextAttempt(
      calling.id, calling.attempts, asked_nanos, now, latest);
  return next.has_value() && *next < end ? next : std::nullopt;
}

void Client::Repeat(const std::shared_ptr<Calling>& calling) {
  if (calling->call.ready) return calling->call.ready();
  Authorize(calling);
}

std::int64_t Client::PatienceEnd(const Calling& calling) const {
  const Patience& patience = calling.call.patience;
  if (patience.silent_host_nanos == INT64_MAX || IsAnswered(calling) ||
      !calling.first_asked_nanos.has_value())
    return INT64_MAX;
  const std::int64_t begin = *calling.first_asked_nanos;
  const auto heard = [&](const auto& entry) {
    const Calling& other = *entry.second;
    return other.host == calling.host && other.heard_nanos >= begin;
  };
  const bool is_silent = calling.host->heard_nanos < begin &&
                         std::none_of(calls_.begin(), calls_.end(), heard);
  return begin +
         (is_silent ? patience.silent_host_nanos : patience.silent_call_nanos);
}

void Client::WatchSilence(const std::shared_ptr<Calling>& calling) {
  const std::int64_t end = PatienceEnd(*calling);
  if (end == INT64_MAX) return;
  engine_->At(end, [this, weak = std::weak_ptr<Calling>(calling)] {
    const auto held = weak.lock();
    if (held == nullptr) return;
    if (PatienceEnd(*held) > engine_->clock().NowNanos())
      return WatchSilence(held);
    const std::string stage = engine_->StageOf(held->request);
    Finish(held, SilenceError(*held, stage.empty() ? held->fault : stage));
  });
}

absl::Status Client::SilenceError(const Calling& calling,
                                  const std::string& reason) const {
  const std::int64_t nanos =
      engine_->clock().NowNanos() - *calling.first_asked_nanos;
  return absl::UnavailableError(
      absl::StrCat(calling.host->origin, " has not answered for ",
                   (nanos + 500'000'000) / 1'000'000'000, " s",
                   reason.empty() ? "" : ": ", reason));
}

void Client::Finish(const std::shared_ptr<Calling>& calling,
                    absl::StatusOr<HttpResponse> result) {
  const auto held = calls_.extract(calling->id);  // keeps the call alive
  if (calling->request != 0) engine_->Cancel(calling->request);
  if (calling->call.done) calling->call.done(std::move(result));
}

}  // namespace forebay::storage::http

#include "server/storage/http/hedged_client.h"

#include <algorithm>
#include <utility>

#include "server/storage/http/engine.h"
#include "server/storage/http/retry_policy.h"

// A pair has two requests. The first is the call as it is, with all its
// attempts. The second is a single attempt, made once the answer to the first
// is late and the budget allows it.
//
// The request whose good answer begins first is taken (Take). The other one may
// not write to the shared memory, and ends. If the taken request fails with an
// error that may pass, either request may be taken next. While the first
// request may still succeed, the second does not end the call with such an
// error. If both fail, the error of the first counts.

namespace forebay::storage::http {
namespace {

// Whether the server says that it is overloaded.
bool IsBusy(const HttpResponse& answer) {
  return answer.status == 429 || answer.status == 503;
}

}  // namespace

HedgedClient::HedgedClient(Client* client, const HedgeOptions& options)
    : client_(client), policy_(options) {}

HedgedClient::~HedgedClient() {
  for (const auto& [id, pair] : pairs_) Drop(pair.get());
}

HedgedClient::Id HedgedClient::Start(Call call) {
  const auto pair = std::make_shared<Pair>();
  pair->id = ++last_id_;
  pair->done = std::exchange(call.done, nullptr);
  pair->call = std::move(call);
  pairs_.emplace(pair->id, pair);
  policy_.OnRequest();
  pair->first = Launch(pair, Side::kFirst);
  Watch(pair);
  return pair->id;
}

void HedgedClient::Cancel(Id id) {
  const auto held = pairs_.extract(id);
  if (!held.empty()) Drop(held.mapped().get());
}

void HedgedClient::Continue(Id id) {
  const auto found = pairs_.find(id);
  if (found != pairs_.end()) GoOn(found->second);
}

std::int64_t HedgedClient::HeardNanos(Id id) const {
  const auto found = pairs_.find(id);
  if (found == pairs_.end()) return INT64_MIN;
  const Pair& pair = *found->second;
  return std::max(client_->HeardNanos(pair.first),
                  client_->HeardNanos(pair.second));
}

void HedgedClient::OnPaused(Pair* pair) {
  pair->first_pauses = true;
  if (pair->second == 0) TellPaused(pair);
}

void HedgedClient::TellPaused(Pair* pair) {
  if (std::exchange(pair->is_paused, true)) return;
  if (pair->call.paused) pair->call.paused();
}

void HedgedClient::OnReady(const std::shared_ptr<Pair>& pair) {
  if (pair->is_paused && pair->call.ready) return pair->call.ready();
  GoOn(pair);
}

void HedgedClient::GoOn(const std::shared_ptr<Pair>& pair) {
  pair->first_pauses = pair->is_paused = false;
  Watch(pair);
  client_->Continue(pair->first);
}

// The callbacks use the raw pointer, since the pair's requests and their
// callbacks end before the pair does.
Client::Id HedgedClient::Launch(const std::shared_ptr<Pair>& pair, Side side) {
  Call call = pair->call;
  Pair* const raw = pair.get();
  call.request.begins = [this, raw, side] { return Take(raw, side); };
  call.saw = [this](const HttpResponse& answer, int attempt) {
    Saw(answer, attempt);
  };
  call.done = [this, weak = std::weak_ptr<Pair>(pair),
               side](absl::StatusOr<HttpResponse> result) {
    if (const auto held = weak.lock()) OnDone(held, side, std::move(result));
  };
  if (side == Side::kFirst) {
    call.paused = [this, raw] { OnPaused(raw); };
    call.ready = [this, weak = std::weak_ptr<Pair>(pair)] {
      if (const auto held = weak.lock()) OnReady(held);
    };
  } else {
    call.paused = nullptr;
    call.ready = nullptr;
    call.attempts = 1;
    call.hedge = true;
  }
  return client_->Start(std::move(call));
}

bool HedgedClient::Take(Pair* pair, Side side) {
  if (!pair->answering_side.has_value()) pair->answering_side = side;
  return pair->answering_side == side;
}

void HedgedClient::OnDone(const std::shared_ptr<Pair>& pair, Side side,
                          absl::StatusOr<HttpResponse> result) {
  (side == Side::kFirst ? pair->first : pair->second) = 0;
  if (!result.ok() && GoesOn(pair, side, result.status())) return;
  // The first request's error counts: the second may have failed as a
  // consequence.
  if (!result.ok() && !pair->failed.ok()) result = std::move(pair->failed);
  Finish(pair, std::move(result));
}

bool HedgedClient::GoesOn(const std::shared_ptr<Pair>& pair, Side side,
                          const absl::Status& error) {
  if (side == Side::kSecond && pair->first_pauses) TellPaused(pair.get());
  // This request was dropped for the other request.
  if (pair->answering_side.has_value() && pair->answering_side != side)
    return true;
  const bool passing = RetryPolicy::MayPass(error);
  if (side == Side::kFirst) {
    if (!passing || pair->second == 0) return false;
    // The second request may take the first one's place.
    pair->answering_side.reset();
    pair->failed = error;
    return true;
  }
  // The second request is not repeated: if it fails, the first one must end the
  // call.
  const bool began = pair->answering_side == side;
  if (began && !passing) return false;
  pair->answering_side.reset();
  if (began && pair->first == 0 && pair->failed.ok())
    pair->first = Launch(pair, Side::kFirst);
  return pair->first != 0;
}

void HedgedClient::Finish(const std::shared_ptr<Pair>& pair,
                          absl::StatusOr<HttpResponse> result) {
  pairs_.erase(pair->id);
  Drop(pair.get());
  if (pair->done) pair->done(std::move(result));
}

void HedgedClient::Drop(Pair* pair) {
  for (Client::Id* const request : {&pair->first, &pair->second})
    if (const Client::Id id = std::exchange(*request, 0)) client_->Cancel(id);
}

void HedgedClient::Saw(const HttpResponse& answer, int attempt) {
  if (answer.failure == HttpFailure::kCancelled) return;
  ++answers_;
  if (answer.IsSuccess() && answer.first_byte_nanos > 0) {
    policy_.OnFirstByte(answer.first_byte_nanos);
    stall_threshold_.Observe(answer.first_byte_nanos);
  }
  if (!IsBusy(answer) || attempt > 1) return;
  ++busy_;
  policy_.OnBusy(client_->engine().clock().NowNanos());
}

void HedgedClient::Watch(const std::shared_ptr<Pair>& pair) {
  if (std::exchange(pair->is_watched, true)) return;
  watched_.push_back(
      {client_->engine().clock().NowNanos() + policy_.DelayNanos(), pair});
  SetTimer();
}

// A single timer serves all pairs: most answers begin before they are late.
void HedgedClient::SetTimer() {
  if (timer_set_ || watched_.empty()) return;
  timer_set_ = true;
  client_->engine().At(watched_.front().due_nanos,
                       [this, here = std::weak_ptr<const bool>(here_)] {
                         if (!here.expired()) LookAtLate();
                       });
}

void HedgedClient::LookAtLate() {
  timer_set_ = false;
  const std::int64_t now = client_->engine().clock().NowNanos();
  std::deque<Watched> later;
  while (!watched_.empty() && watched_.front().due_nanos <= now) {
    const std::shared_ptr<Pair> pair = watched_.front().pair.lock();
    watched_.pop_front();
    if (pair == nullptr) continue;
    pair->is_watched = false;
    if (pair->answering_side.has_value() || pair->first_pauses ||
        pair->second != 0)
      continue;
    pair->is_watched = !policy_.TryHedge(now);
    if (!pair->is_watched)
      pair->second = Launch(pair, Side::kSecond);
    else
      later.push_back({now + policy_.DelayNanos(), pair});
  }
  watched_.insert(watched_.end(), later.begin(), later.end());
  SetTimer();
}

}  // namespace forebay::storage::http

#include "server/storage/http/ranged_source.h"

#include <algorithm>
#include <future>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/bytes.h"
#include "server/base/check.h"
#include "server/base/crc32c.h"
#include "server/base/status.h"

namespace forebay::storage::http {
namespace {

// The most reads of an object whose checksum differs.
constexpr int kReads = 3;
// The most parts of one read.
constexpr std::uint64_t kMaxParts = 64;
// The time between two samples for the tuner.
constexpr std::int64_t kTuneNanos = 50'000'000;

schedule::ConcurrencyTunerOptions TunerOptions(int most) {
  schedule::ConcurrencyTunerOptions options;
  options.min = std::min(options.min, most);
  options.initial = std::min(options.initial, most);
  options.max = most;
  return options;
}

}  // namespace

// A read in flight. Callbacks of its parts find it through `underway_`.
struct RangedSource::Reading {
  ReadRequest request;
  std::shared_ptr<std::uint8_t> buffer;  // null until a part begins
  std::uint64_t parts_left = 0;
  std::vector<Queue::Id> asked;  // all parts that were queued
  std::vector<ReadPurpose> joined;
  std::optional<std::uint32_t> object_crc32c;
  int reads = 1;
  bool over = false;

  absl::Span<std::uint8_t> bytes() const {
    return {buffer.get(), request.length};
  }
};

RangedSource::RangedSource(Client* client, const Protocol* protocol,
                           Authorizer* authorizer,
                           const RangedSourceOptions& options)
    : client_(client),
      protocol_(protocol),
      authorizer_(authorizer),
      options_(options),
      queue_(options.most_stalled),
      parts_(PlacesInQueue()),
      calls_(std::make_unique<HedgedClient>(client, options.hedge)),
      tuner_(TunerOptions(options.concurrency)),
      state_{.concurrency = static_cast<std::size_t>(tuner_.limit())} {
  FOREBAY_CHECK(options.part_bytes > 0);
}

RangedSource::~RangedSource() {
  std::promise<void> over;
  client_->engine().Post([this, &over] {
    CancelAll();
    over.set_value();
  });
  over.get_future().wait();
}

void RangedSource::Read(absl::Span<ReadRequest> requests) {
  auto posted = std::make_shared<std::vector<ReadRequest>>(
      std::make_move_iterator(requests.begin()),
      std::make_move_iterator(requests.end()));
  client_->engine().Post([this, posted] {
    for (ReadRequest& request : *posted) Begin(std::move(request));
    Dispatch();
  });
}

void RangedSource::Share(std::uint64_t ticket, const ReadPurpose& purpose) {
  client_->engine().Post([=, this] {
    const auto found = tickets_.find(ticket);
    if (found == tickets_.end()) return;
    Reading& reading = *found->second;
    reading.joined.push_back(purpose);
    for (const Queue::Id part : reading.asked) Join(part, purpose);
    Dispatch();
  });
}

void RangedSource::Join(Queue::Id part, const ReadPurpose& purpose) {
  for (const std::uint64_t payer : PayersOf(purpose))
    queue_.Share(part, payer, purpose.urgency);
}

void RangedSource::SetWeight(std::uint64_t job, double weight) {
  client_->engine().Post([=, this] { queue_.SetWeight(job, weight); });
}

void RangedSource::SetCap(std::uint64_t job, double bytes_per_second) {
  client_->engine().Post([=, this] {
    queue_.SetCap(job, bytes_per_second, Now());
    Dispatch();
  });
}

void RangedSource::Forget(std::uint64_t job) {
  client_->engine().Post([=, this] {
    queue_.Forget(job);
    Dispatch();
  });
}

SourceState RangedSource::State() const {
  base::MutexLock lock(&state_mutex_);
  return state_;
}

absl::Status RangedSource::Check(const ReadRequest& request) const {
  const std::uint64_t size = request.version.size;
  if (request.length > size || request.offset > size - request.length)
    return absl::InvalidArgumentError(absl::StrCat(
        "bytes ", request.offset, " to ", request.offset + request.length,
        " lie outside its ", size, " bytes"));
  return protocol_
      ->Ask(request,
            {request.offset, std::max<std::uint64_t>(request.length, 1)})
      .status();
}

void RangedSource::Begin(ReadRequest request) {
  const auto reading = std::make_shared<Reading>();
  reading->request = std::move(request);
  readings_.insert(reading);
  if (reading->request.ticket != 0)
    tickets_[reading->request.ticket] = reading.get();
  const absl::Status status = Check(reading->request);
  if (!status.ok()) return Fail(reading, status);
  // HTTP has no empty range, and an empty range is the same in all versions.
  if (reading->request.length == 0) return Complete(reading);
  Enqueue(reading);
}

void RangedSource::Enqueue(const std::shared_ptr<Reading>& reading) {
  const ReadRequest& request = reading->request;
  const std::uint64_t parts =
      std::min((request.length - 1) / options_.part_bytes + 1, kMaxParts);
  const std::uint64_t part_bytes = (request.length - 1) / parts + 1;
  reading->parts_left = parts;
  for (std::uint64_t at = 0; at < request.length; at += part_bytes) {
    const std::uint64_t length = std::min(part_bytes, request.length - at);
    const Part part = {reading, {request.offset + at, length}};
    reading->asked.push_back(queue_.PushFor(PayersOf(request.purpose),
                                            LoadOf(part.range),
                                            request.purpose.urgency, part));
    // If the object is read again, readers have joined the read already.
    for (const ReadPurpose& purpose : reading->joined)
      Join(reading->asked.back(), purpose);
  }
}

StartedParts::Places RangedSource::PlacesInQueue() {
  return {.give_back =
              [this](Queue::Id id) {
                queue_.Stall(id);
                auto& metered = underway_.at(id).metered;
                if (metered.has_value()) meter_.Left(*metered);
                metered.reset();
              },
          .take = [this](Queue::Id id) { queue_.Resume(id); }};
}

void RangedSource::Dispatch() {
  if (calls_ != nullptr) {
    ContinueParts();
    StartParts();
  }
  base::MutexLock lock(&state_mutex_);
  state_ = {.concurrency = static_cast<std::size_t>(tuner_.limit()),
            .in_flight = queue_.in_flight(),
            .waiting = queue_.size(),
            .stalled = queue_.stalled(),
            .request_cost = meter_.cost()};
}

void RangedSource::PostDispatch() {
  if (std::exchange(dispatch_posted_, true)) return;
  client_->engine().Post([this, here = std::weak_ptr<const bool>(here_)] {
    if (here.expired()) return;
    dispatch_posted_ = false;
    Dispatch();
  });
}

bool RangedSource::HasRoom() const {
  return queue_.in_flight() < static_cast<std::size_t>(tuner_.allowed()) &&
         (parts_.bytes() < options_.max_bytes || queue_.in_flight() == 0);
}

void RangedSource::ContinueParts() {
  while (HasRoom()) {
    const auto ready = parts_.TakeNext(Now());
    if (!ready.has_value()) return;
    calls_->Continue(underway_.at(*ready).call);
  }
}

void RangedSource::StartParts() {
  while (calls_ != nullptr && HasRoom()) {
    const std::optional<Queue::Popped> part = queue_.Pop(Now());
    if (!part.has_value()) {
      starved_ = true;
      return WakeForCaps();
    }
    StartPart(*part);
  }
}

void RangedSource::WakeForCaps() {
  const std::int64_t at = queue_.NextAt();
  if (at >= caps_wake_at_) return;
  caps_wake_at_ = at;
  client_->engine().At(at, [this, here = std::weak_ptr<const bool>(here_)] {
    if (here.expired()) return;
    caps_wake_at_ = INT64_MAX;
    Dispatch();
  });
}

void RangedSource::SetTimer() {
  if (std::exchange(timer_set_, true)) return;
  client_->engine().At(client_->engine().clock().NowNanos() + kTuneNanos,
                       [this, here = std::weak_ptr<const bool>(here_)] {
                         if (!here.expired()) Tune();
                       });
}

void RangedSource::Tune() {
  timer_set_ = false;
  parts_.Look(Now(), calls_->stall_nanos(), [this](Queue::Id id) {
    return calls_->HeardNanos(underway_.at(id).call);
  });
  schedule::ConcurrencySample sample;
  sample.now_nanos = Now();
  sample.delivered = arrived_;
  sample.answers = calls_->answers();
  sample.busy = calls_->busy();
  sample.in_flight = queue_.in_flight();
  sample.starved = std::exchange(starved_, false);
  sample.latency_nanos = calls_->usual_nanos();
  tuner_.OnSample(sample);
  meter_.Look(sample.now_nanos, static_cast<std::size_t>(tuner_.allowed()),
              sample.starved);
  Dispatch();
  if (!parts_.empty()) SetTimer();
}

void RangedSource::Leave(Queue::Id id) {
  const auto gone = underway_.extract(id);
  parts_.End(id);
  // A failed request counts in full, since nobody knows how much of it came.
  queue_.Complete(id, LoadOf(gone.mapped().part.range), Now());
}

schedule::Load RangedSource::LoadOf(const HttpRange& range) const {
  const auto bytes = static_cast<std::int64_t>(range.length);
  return {.cost = meter_.cost() + bytes, .units = bytes};
}

void RangedSource::StartPart(const Queue::Popped& part) {
  const std::shared_ptr<Reading>& reading = part.item.reading;
  if (reading->over) return queue_.Complete(part.id, {}, Now());
  if (reading->buffer == nullptr)
    reading->buffer = std::shared_ptr<std::uint8_t>(
        new (std::nothrow) std::uint8_t[reading->request.length],
        std::default_delete<std::uint8_t[]>());
  absl::StatusOr<HttpRequest> request =
      protocol_->Ask(reading->request, part.item.range);
  if (reading->buffer == nullptr || !request.ok()) {
    queue_.Complete(part.id, {}, Now());
    return Fail(reading, request.ok()
                             ? absl::UnavailableError("no memory for its bytes")
                             : request.status());
  }
  const HedgedClient::Id call =
      calls_->Start(CallFor(part.id, part.item, *std::move(request)));
  underway_.emplace(part.id, Underway{part.item, call, meter_.Began(Now())});
  parts_.Begin(part.id, part.item.range.length, Now());
  SetTimer();
}

Call RangedSource::CallFor(Queue::Id id, const Part& part,
                           HttpRequest request) {
  const ReadRequest& read = part.reading->request;
  const HttpRange range = part.range;
  Call call;
  call.request = std::move(request);
  call.request.into =
      part.reading->bytes().subspan(range.offset - read.offset, range.length);
  call.request.arrived = &arrived_;
  call.request.timeouts = options_.timeouts;
  call.authorizer = authorizer_;
  call.job = read.purpose.job;
  call.kind = RequestKind::kGet;
  call.judge = [this, raw = part.reading.get(),
                range](const HttpResponse& answer) {
    return protocol_->Judge(raw->request, range, answer);
  };
  call.follow = [this](const HttpResponse& answer) {
    return protocol_->Follow(answer);
  };
  call.fault = [this](const HttpResponse& answer) {
    return protocol_->Fault(answer);
  };
  call.paused = [this, id] {
    parts_.Pause(id);
    PostDispatch();
  };
  call.ready = [this, id] {
    parts_.MakeReady(id);
    PostDispatch();
  };
  call.done = [this, id](const absl::StatusOr<HttpResponse>& answer) {
    OnPart(id, answer);
  };
  return call;
}

void RangedSource::OnPart(Queue::Id id,
                          const absl::StatusOr<HttpResponse>& answer) {
  tuner_.OnAnswer();
  const Underway underway = underway_.at(id);
  Leave(id);
  const std::shared_ptr<Reading>& reading = underway.part.reading;
  if (!answer.ok()) {
    if (underway.metered.has_value()) meter_.Failed();
    Fail(reading, protocol_->Explain(answer.status()));
  } else {
    if (underway.metered.has_value())
      meter_.Ended(*underway.metered, Now(),
                   static_cast<std::int64_t>(underway.part.range.length));
    if (const auto crc = protocol_->Crc32cOf(*answer))
      reading->object_crc32c = crc;
    if (--reading->parts_left == 0) Complete(reading);
  }
  Dispatch();
}

void RangedSource::Complete(const std::shared_ptr<Reading>& reading) {
  const ReadRequest& request = reading->request;
  const bool whole = request.length == request.version.size;
  if (whole && reading->object_crc32c.has_value() &&
      base::Crc32c(reading->bytes()) != *reading->object_crc32c) {
    if (reading->reads++ < kReads) return Enqueue(reading);
    return Fail(reading, absl::DataLossError(absl::StrCat(
                             "its bytes do not have its checksum, in ", kReads,
                             " reads")));
  }
  reading->over = true;
  tickets_.erase(request.ticket);
  readings_.erase(reading);
  const absl::Span<const std::uint8_t> bytes = reading->bytes();
  request.done(
      ReadResult{.bytes = base::Bytes(std::move(reading->buffer), bytes)});
}

void RangedSource::Fail(const std::shared_ptr<Reading>& reading,
                        const absl::Status& error) {
  if (std::exchange(reading->over, true)) return;
  const auto held = readings_.extract(reading);  // keeps the read alive
  tickets_.erase(reading->request.ticket);
  for (const Queue::Id id : reading->asked) {
    const auto found = underway_.find(id);
    if (found == underway_.end()) continue;
    calls_->Cancel(found->second.call);
    if (found->second.metered.has_value()) meter_.Failed();
    Leave(id);
  }
  reading->request.done(base::Annotate(error, reading->request.object));
}

void RangedSource::CancelAll() {
  while (!readings_.empty())
    Fail(*readings_.begin(),
         absl::CancelledError("the daemon is shutting down"));
  queue_.LiftCaps();
  while (queue_.Pop(Now()).has_value()) {
  }
  calls_.reset();
  here_.reset();
}

}  // namespace forebay::storage::http

#include "server/storage/http/ranged_source.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <future>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/bytes.h"
#include "server/base/check.h"
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

// The CRC32C of `bytes`.
std::uint32_t Crc32c(absl::Span<std::uint8_t> bytes) {
  std::uint32_t crc = ~std::uint32_t{0};
  while (!bytes.empty()) {
    const auto piece =
        bytes.first(std::min<std::size_t>(bytes.size(), 1 << 30));
    crc = crc32_iscsi(piece.data(), static_cast<int>(piece.size()), crc);
    bytes.remove_prefix(piece.size());
  }
  return ~crc;
}

}  // namespace

struct RangedSource::Reading {
  ReadRequest request;
  std::shared_ptr<std::uint8_t> buffer;  // once the first part has begun
  std::uint64_t parts_left = 0;
  // Parts in flight, by offset.
  struct Underway {
    HedgedClient::Id call;
    Queue::Popped part;
    RequestMeter::MeteredRequest metered;
  };
  std::map<std::uint64_t, Underway> underway;
  std::vector<Queue::Id> asked;  // all parts, ever
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
  auto taken = std::make_shared<std::vector<ReadRequest>>(
      std::make_move_iterator(requests.begin()),
      std::make_move_iterator(requests.end()));
  client_->engine().Post([this, taken] {
    for (ReadRequest& request : *taken) Begin(std::move(request));
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
    client_->ledger().Forget(job);
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
  // HTTP has no empty range, and no version has other bytes there.
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
    // If the object is read again.
    for (const ReadPurpose& purpose : reading->joined)
      Join(reading->asked.back(), purpose);
  }
}

void RangedSource::Dispatch() {
  StartParts();
  base::MutexLock lock(&state_mutex_);
  state_ = {static_cast<std::size_t>(tuner_.limit()), queue_.in_flight(),
            queue_.size(), meter_.cost()};
}

void RangedSource::StartParts() {
  while (calls_ != nullptr &&
         queue_.in_flight() < static_cast<std::size_t>(tuner_.allowed()) &&
         (bytes_in_flight_ < options_.max_bytes || queue_.in_flight() == 0)) {
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
  schedule::ConcurrencySample sample;
  sample.now_nanos = client_->engine().clock().NowNanos();
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
  if (queue_.in_flight() > 0) SetTimer();
}

void RangedSource::Leave(const Queue::Popped& part,
                         const schedule::Load& actual) {
  queue_.Complete(part.id, actual, Now());
  bytes_in_flight_ -= part.item.range.length;
}

schedule::Load RangedSource::LoadOf(const ByteRange& range) const {
  const auto bytes = static_cast<std::int64_t>(range.length);
  return {.cost = meter_.cost() + bytes, .units = bytes};
}

void RangedSource::StartPart(const Queue::Popped& part) {
  const std::shared_ptr<Reading>& reading = part.item.reading;
  const ByteRange range = part.item.range;
  bytes_in_flight_ += range.length;
  if (reading->over) return Leave(part, {});
  if (reading->buffer == nullptr)
    reading->buffer = std::shared_ptr<std::uint8_t>(
        new (std::nothrow) std::uint8_t[reading->request.length],
        std::default_delete<std::uint8_t[]>());
  absl::StatusOr<Request> request = protocol_->Ask(reading->request, range);
  if (reading->buffer == nullptr || !request.ok()) {
    Leave(part, {});
    return Fail(reading, request.ok()
                             ? absl::UnavailableError("no memory for its bytes")
                             : request.status());
  }
  Call call;
  call.request = *std::move(request);
  call.request.into = reading->bytes().subspan(
      range.offset - reading->request.offset, range.length);
  call.request.arrived = &arrived_;
  call.request.timeouts = options_.timeouts;
  call.authorizer = authorizer_;
  call.job = reading->request.purpose.job;
  call.kind = RequestKind::kGet;
  call.judge = [this, raw = reading.get(), range](const Answer& answer) {
    return protocol_->Judge(raw->request, range, answer);
  };
  call.follow = [this](const Answer& answer) {
    return protocol_->Follow(answer);
  };
  call.fault = [this](const Answer& answer) {
    return protocol_->Fault(answer);
  };
  call.done = [this, part](const absl::StatusOr<Answer>& answer) {
    OnPart(part, answer);
  };
  reading->underway.emplace(
      range.offset, Reading::Underway{calls_->Start(std::move(call)), part,
                                      meter_.Began(Now())});
  SetTimer();
}

void RangedSource::OnPart(const Queue::Popped& part,
                          const absl::StatusOr<Answer>& answer) {
  tuner_.OnAnswer();
  // A failed request counts in full: how much came is unknown.
  Leave(part, LoadOf(part.item.range));
  const std::shared_ptr<Reading>& reading = part.item.reading;
  const ByteRange range = part.item.range;
  const auto underway = reading->underway.extract(range.offset);
  if (!answer.ok()) {
    meter_.Failed();
    Fail(reading, protocol_->Explain(answer.status()));
  } else {
    meter_.Ended(underway.mapped().metered, Now(),
                 static_cast<std::int64_t>(range.length));
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
      Crc32c(reading->bytes()) != *reading->object_crc32c) {
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
  const auto held = readings_.extract(reading);  // keeps it alive
  tickets_.erase(reading->request.ticket);
  for (const auto& [offset, underway] : std::exchange(reading->underway, {})) {
    calls_->Cancel(underway.call);
    meter_.Failed();
    Leave(underway.part, LoadOf(underway.part.item.range));
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

#include "server/storage/http/ranged_source.h"

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
#include "server/base/crc32c.h"
#include "server/base/status.h"

namespace forebay::storage::http {
namespace {

// What a request costs beside its bytes, in bytes.
constexpr std::int64_t kRequestCost = 128 << 10;
// How often an object whose checksum does not fit is read.
constexpr int kReads = 3;
// Of one read.
constexpr std::uint64_t kMaxParts = 64;

}  // namespace

struct RangedSource::Reading {
  ReadRequest request;
  std::shared_ptr<std::uint8_t> buffer;  // once the first part has begun
  std::uint64_t parts_left = 0;
  // Parts on their way, by offset.
  struct Underway {
    Client::Id call;
    std::int64_t cost;
  };
  std::map<std::uint64_t, Underway> underway;
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
      options_(options) {
  FOREBAY_CHECK(options.concurrency > 0 && options.part_bytes > 0);
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

void RangedSource::SetWeight(std::uint64_t job, double weight) {
  client_->engine().Post([=, this] { queue_.SetWeight(job, weight); });
}

void RangedSource::Forget(std::uint64_t job) {
  client_->engine().Post([=, this] { queue_.Forget(job); });
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
  const absl::Status status = Check(reading->request);
  if (!status.ok()) return Fail(reading, status);
  // Nothing can be asked for in a range of nothing; no version has other bytes.
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
    queue_.Push(
        request.purpose.job, kRequestCost + static_cast<std::int64_t>(length),
        request.purpose.urgency, {reading, {request.offset + at, length}});
  }
}

void RangedSource::Dispatch() {
  while (!ending_ &&
         queue_.in_flight() < static_cast<std::size_t>(options_.concurrency)) {
    const std::optional<Queue::Popped> part = queue_.Pop();
    if (!part.has_value()) return;
    StartPart(*part);
  }
}

void RangedSource::StartPart(const Queue::Popped& part) {
  const std::shared_ptr<Reading>& reading = part.item.reading;
  const ByteRange range = part.item.range;
  if (reading->over) return queue_.Complete(part.flow, part.cost, 1);
  if (reading->buffer == nullptr)
    reading->buffer = std::shared_ptr<std::uint8_t>(
        new (std::nothrow) std::uint8_t[reading->request.length],
        std::default_delete<std::uint8_t[]>());
  absl::StatusOr<Request> request = protocol_->Ask(reading->request, range);
  if (reading->buffer == nullptr || !request.ok()) {
    queue_.Complete(part.flow, part.cost, 1);
    return Fail(reading, request.ok()
                             ? absl::UnavailableError("no memory for its bytes")
                             : request.status());
  }
  Call call;
  call.request = *std::move(request);
  call.request.into = reading->bytes().subspan(
      range.offset - reading->request.offset, range.length);
  call.authorizer = authorizer_;
  call.judge = [this, raw = reading.get(), range](const Answer& answer) {
    return protocol_->Judge(raw->request, range, answer);
  };
  call.done = [this, part](const absl::StatusOr<Answer>& answer) {
    OnPart(part, answer);
  };
  reading->underway[range.offset] = {client_->Start(std::move(call)),
                                     part.cost};
}

void RangedSource::OnPart(const Queue::Popped& part,
                          const absl::StatusOr<Answer>& answer) {
  queue_.Complete(part.flow, part.cost, part.cost);
  const std::shared_ptr<Reading>& reading = part.item.reading;
  reading->underway.erase(part.item.range.offset);
  if (!answer.ok()) {
    Fail(reading, answer.status());
  } else {
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
  readings_.erase(reading);
  const absl::Span<const std::uint8_t> bytes = reading->bytes();
  request.done(base::Bytes(std::move(reading->buffer), bytes));
}

void RangedSource::Fail(const std::shared_ptr<Reading>& reading,
                        const absl::Status& error) {
  if (std::exchange(reading->over, true)) return;
  const auto held = readings_.extract(reading);  // keeps it alive
  for (const auto& [offset, underway] : std::exchange(reading->underway, {})) {
    client_->Cancel(underway.call);
    queue_.Complete(reading->request.purpose.job, underway.cost, underway.cost);
  }
  reading->request.done(base::Annotate(error, reading->request.object));
}

void RangedSource::CancelAll() {
  ending_ = true;
  while (!readings_.empty())
    Fail(*readings_.begin(),
         absl::CancelledError("the daemon is shutting down"));
  while (queue_.Pop().has_value()) {
  }
}

}  // namespace forebay::storage::http

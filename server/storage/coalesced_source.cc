// How requests are joined: Read sorts the requests that may be joined by
// payers, object and offset. A request and those that follow it closely become
// one range, which is one read of the source below.
//
// A range ends where the next request has other payers or another object. A
// range also ends before a gap of more than `most_gap`, and where it would
// become longer than `most_bytes`. A range also takes no more memory than its
// members have reserved: n bytes, a quarter more and 4 KiB for a request of n
// bytes. Between small samples, gaps of up to about 4 KiB are therefore
// possible. Where many samples lie together, a range may have a few larger
// gaps.
//
// Sharing: a joint read has the ticket of its first member that has one. A call
// of Share for any member is forwarded with that ticket, and noted. If the
// range fails, the members are read under their own tickets, and the noted
// calls are made again.
//
// Cost: sorting n requests takes about n log n comparisons of roots, versions
// and names of objects. Each byte is copied once.

#include "server/storage/coalesced_source.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::storage {
namespace {

std::uint64_t EndOf(const ReadRequest& request) {
  return request.offset + request.length;
}

// Returns the key by which requests are sorted and compared. Requests of equal
// keys belong to one version of one object, and the same jobs pay for them.
auto ObjectOf(const ReadRequest& request) {
  const ObjectVersion& version = request.version;
  return std::tuple_cat(
      std::make_tuple(PayersOf(request.purpose)),
      std::tie(request.root, version.size, version.stamp,
               version.revision.inode, version.revision.ctime_nanos,
               version.revision.transaction_id, request.layout,
               request.object));
}

bool LiesBefore(const ReadRequest* a, const ReadRequest* b) {
  const auto of_a = ObjectOf(*a);
  const auto of_b = ObjectOf(*b);
  return of_a != of_b ? of_a < of_b : a->offset < b->offset;
}

}  // namespace

CoalescedSourceOptions CoalescedSourceOptions::For(std::uint64_t memory) {
  const std::uint64_t part =
      std::min<std::uint64_t>(memory / 128, std::uint64_t{16} << 20);
  CoalescedSourceOptions options;
  // HeldBytes of the longest read is about 15/32 of `part`, and the spare
  // buffers take half of `part`.
  options.most_bytes = part / 8 * 3;
  options.spare_bytes = part / 2;
  return options;
}

absl::StatusOr<std::unique_ptr<CoalescedSource>> CoalescedSource::Create(
    ByteSource* below, base::MemoryBudget* budget,
    const CoalescedSourceOptions& options) {
  FOREBAY_ASSIGN_OR_RETURN(
      base::MemoryReservation memory,
      budget->Reserve(options.spare_bytes + HeldBytes(options.most_bytes),
                      "reads of several samples at once"));
  return std::unique_ptr<CoalescedSource>(
      new CoalescedSource(below, std::move(memory), options));
}

CoalescedSource::CoalescedSource(ByteSource* below,
                                 base::MemoryReservation memory,
                                 const CoalescedSourceOptions& options)
    : below_(below),
      memory_(std::move(memory)),
      options_(options),
      buffers_(std::make_shared<BufferPool>(options.spare_bytes)) {}

CoalescedSource::~CoalescedSource() {
  base::MutexLock lock(&mutex_);
  while (under_way_ > 0) quiet_.Wait(&mutex_);
}

void CoalescedSource::Stop() {
  base::MutexLock lock(&mutex_);
  stopped_ = true;
  while (being_repeated_ > 0) quiet_.Wait(&mutex_);
}

void CoalescedSource::Read(absl::Span<ReadRequest> requests) {
  if (requests.size() < 2) return below_->Read(requests);
  std::vector<ReadRequest*> order;
  order.reserve(requests.size());
  for (ReadRequest& request : requests) {
    if (MayJoin(request)) order.push_back(&request);
  }
  std::sort(order.begin(), order.end(), LiesBefore);

  // Join takes the contents of the requests that it serves, and leaves their
  // `done` empty.
  std::vector<ReadRequest> ranges;
  for (absl::Span<ReadRequest* const> left = order; !left.empty();) {
    const std::size_t count = Together(left);
    if (count > 1) ranges.push_back(Join(left.first(count)));
    left.remove_prefix(count);
  }
  if (ranges.empty()) return below_->Read(requests);
  // A request whose `done` was taken is part of a range.
  for (ReadRequest& request : requests) {
    if (request.done != nullptr) ranges.push_back(std::move(request));
  }
  below_->Read(absl::MakeSpan(ranges));
}

bool CoalescedSource::MayJoin(const ReadRequest& request) const {
  return request.root != nullptr && request.length > 0 &&
         !request.unless.has_value() && request.length <= options_.most_bytes &&
         request.length <= request.version.size &&
         request.offset <= request.version.size - request.length;
}

std::size_t CoalescedSource::Together(
    absl::Span<ReadRequest* const> order) const {
  const ReadRequest& first = *order.front();
  std::uint64_t end = EndOf(first);
  std::uint64_t set_aside = HeldBytes(first.length);
  std::size_t count = 1;
  for (; count < order.size(); ++count) {
    const ReadRequest& next = *order[count];
    if (ObjectOf(next) != ObjectOf(first)) break;
    if (next.offset > end && next.offset - end > options_.most_gap) break;
    const std::uint64_t new_end = std::max(end, EndOf(next));
    const std::uint64_t bytes = new_end - first.offset;
    const std::uint64_t of_next = HeldBytes(next.length);
    if (bytes > options_.most_bytes || HeldBytes(bytes) > set_aside + of_next) {
      break;
    }
    end = new_end;
    set_aside += of_next;
  }
  return count;
}

ReadRequest CoalescedSource::Join(absl::Span<ReadRequest* const> members) {
  auto range = std::make_shared<Range>();
  range->members.reserve(members.size());
  const ReadRequest& first = *members.front();
  ReadRequest whole;
  whole.root = first.root;
  whole.object = first.object;
  whole.version = first.version;
  whole.layout = first.layout;
  whole.purpose = first.purpose;
  whole.sample = first.sample;
  std::uint64_t end = 0;
  for (ReadRequest* const member : members) {
    end = std::max(end, EndOf(*member));
    ReadPurpose& purpose = whole.purpose;
    purpose.urgency = std::min(purpose.urgency, member->purpose.urgency);
    purpose.next_use_nanos =
        std::min(purpose.next_use_nanos, member->purpose.next_use_nanos);
    // No other read has the ticket of a member while this read serves it.
    if (whole.ticket == 0) whole.ticket = member->ticket;
  }
  whole.offset = range->offset = first.offset;
  whole.length = range->length = end - first.offset;
  for (ReadRequest* const member : members) {
    range->members.push_back(std::move(*member));
    member->done = nullptr;
  }
  {
    base::MutexLock lock(&mutex_);
    ++under_way_;
    for (const ReadRequest& member : range->members) {
      if (member.ticket != 0) members_[member.ticket] = {whole.ticket, {}};
    }
  }
  whole.done = [this, range](absl::StatusOr<ReadResult> result) {
    Complete(*range, std::move(result));
  };
  return whole;
}

void CoalescedSource::Complete(Range& range,
                               absl::StatusOr<ReadResult> result) {
  if (result.ok() && result->bytes.size() == range.length) {
    Part(range);
    auto copies = HandOut(range, *std::exchange(result, ReadResult()));
    for (std::size_t i = 0; i < copies.size(); ++i)
      range.members[i].done(std::move(copies[i]));
  } else {
    ReadAgain(range, result.status());
  }
  base::MutexLock lock(&mutex_);
  if (--under_way_ == 0) quiet_.NotifyAll();
}

std::vector<absl::StatusOr<ReadResult>> CoalescedSource::HandOut(
    const Range& range, ReadResult whole) {
  std::vector<absl::StatusOr<ReadResult>> copies;
  copies.reserve(range.members.size());
  base::MutexLock lock(&handing_out_);
  for (const ReadRequest& member : range.members) {
    auto copy = buffers_->Take(member.length);
    if (copy == nullptr) {
      copies.emplace_back(absl::UnavailableError(
          absl::StrCat(member.object, ": no memory for its bytes")));
      continue;
    }
    std::memcpy(copy.get(), whole.bytes.data() + (member.offset - range.offset),
                member.length);
    const absl::Span<const std::uint8_t> span(copy.get(), member.length);
    copies.push_back(ReadResult{.bytes = base::Bytes(std::move(copy), span),
                                .variant = whole.variant,
                                .origin = whole.origin,
                                .revision = whole.revision});
  }
  whole.bytes = base::Bytes();  // before the next read is copied
  return copies;
}

void CoalescedSource::ReadAgain(Range& range, const absl::Status& error) {
  bool again = !absl::IsCancelled(error);
  std::vector<std::uint64_t> tickets;
  if (again) {
    base::MutexLock lock(&mutex_);
    again = !stopped_;
    if (again) ++being_repeated_;
    for (const ReadRequest& member : range.members) {
      if (member.ticket == 0) continue;
      members_[member.ticket].ticket = member.ticket;
      tickets.push_back(member.ticket);
    }
  }
  if (!again) {
    Part(range);
    for (ReadRequest& member : range.members) {
      member.done(absl::CancelledError(
          absl::StrCat(member.object, ": the daemon is shutting down")));
    }
    return;
  }
  below_->Read(absl::MakeSpan(range.members));
  ShareAgain(tickets);
  base::MutexLock lock(&mutex_);
  if (--being_repeated_ == 0) quiet_.NotifyAll();
}

void CoalescedSource::ShareAgain(absl::Span<const std::uint64_t> tickets) {
  for (const std::uint64_t ticket : tickets) {
    std::vector<ReadPurpose> joined;
    {
      base::MutexLock lock(&mutex_);
      auto member = members_.extract(ticket);
      if (member.empty()) continue;
      joined = std::move(member.mapped().joined);
    }
    for (const ReadPurpose& purpose : joined) below_->Share(ticket, purpose);
  }
}

void CoalescedSource::Part(const Range& range) {
  base::MutexLock lock(&mutex_);
  for (const ReadRequest& member : range.members) members_.erase(member.ticket);
}

void CoalescedSource::Share(std::uint64_t ticket, const ReadPurpose& purpose) {
  {
    base::MutexLock lock(&mutex_);
    const auto found = members_.find(ticket);
    if (found != members_.end()) {
      found->second.joined.push_back(purpose);
      ticket = found->second.ticket;
    }
  }
  below_->Share(ticket, purpose);
}

}  // namespace forebay::storage

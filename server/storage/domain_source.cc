#include "server/storage/domain_source.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/storage/wrong_domain.h"

// How domains come and go: mutex_ guards only the table. While it is held, no
// source is made, called or destroyed: each of these calls may block on the
// source's own threads. making_ is held while a source is made, so that two
// reads of a new domain make one source; reads of existing domains do not wait
// for it.
//
// A domain is idle if the table holds the only reference to it and it has no
// read in flight. Only an idle domain ends. Domain::in_flight counts the reads,
// because a source may not know yet of reads that it was sent.
//
// A source of local files may answer WrongDomain, for example when a link leads
// out of its file system. By then `domain_of` names another domain, and the
// read is sent there with all its readers. The number of tries is bounded,
// since a folder may change while it is read.

namespace forebay::storage {
namespace {

// The most domains that a read is sent to. A read needs more only where links
// or mounts change meanwhile.
constexpr int kMaxTries = 4;

}  // namespace

// The locals are destroyed in reverse order, after both mutexes are released:
// the thread forebay-domains ends first, then the sources, which wait for their
// reads.
DomainSource::~DomainSource() {
  Domains ending;
  std::vector<std::shared_ptr<Domain>> replaced;
  std::unique_ptr<base::Alarm> ender;
  base::MutexLock making(&making_);
  base::MutexLock lock(&mutex_);
  ending_ = true;
  ending.swap(domains_);
  replaced.swap(replaced_);
  ender.swap(ender_);
}

void DomainSource::Read(absl::Span<ReadRequest> requests) {
  // Requests come many at a time, mostly for one domain. A run of requests for
  // the same domain is sent in one call.
  while (!requests.empty()) {
    const std::string domain = options_.domain_of(requests.front());
    std::size_t count = 1;
    while (count < requests.size() &&
           options_.domain_of(requests[count]) == domain)
      ++count;
    Send(domain, requests.first(count), /*tries=*/1);
    requests.remove_prefix(count);
  }
}

void DomainSource::Send(const std::string& name,
                        absl::Span<ReadRequest> requests, int tries) {
  const auto found = FindOrMake(name);
  if (!found.ok()) {
    for (ReadRequest& request : requests) {
      Leave(request.ticket);
      request.done(base::Annotate(found.status(), request.object));
    }
    return;
  }
  Domain* const domain = found->get();
  domain->in_flight += requests.size();
  if (options_.objects_move) {
    base::MutexLock lock(&mutex_);
    for (const ReadRequest& request : requests) {
      if (request.ticket != 0) joined_.try_emplace(request.ticket);
    }
  }
  for (ReadRequest& request : requests) {
    if (options_.objects_move)
      Watch(&request, name, domain, tries);
    else
      Count(&request, domain);
  }
  domain->source->Read(requests);
}

void DomainSource::Count(ReadRequest* request, Domain* domain) {
  request->done = [domain, done = std::exchange(request->done, nullptr)](
                      absl::StatusOr<ReadResult> result) {
    done(std::move(result));
    --domain->in_flight;
  };
}

void DomainSource::Watch(ReadRequest* request, const std::string& name,
                         Domain* domain, int tries) {
  // `again` is a copy of the request without `done`, for the next try.
  ReadDone done = std::exchange(request->done, nullptr);
  request->done = [this, name, domain, tries, again = *request,
                   done = std::move(done)](absl::StatusOr<ReadResult> result) {
    if (tries < kMaxTries && IsWrongDomain(result.status())) {
      ReadRequest repeated = again;
      repeated.done = done;
      ReadElsewhere(std::move(repeated), name, tries);
    } else {
      Leave(again.ticket);
      done(std::move(result));
    }
    --domain->in_flight;
  };
}

void DomainSource::ReadElsewhere(ReadRequest request, const std::string& domain,
                                 int tries) {
  const std::uint64_t ticket = request.ticket;
  const std::string other = options_.domain_of(request);
  // A second answer for the same domain is final: kMaxTries forbids another
  // try.
  Send(other, {&request, 1}, other == domain ? kMaxTries : tries + 1);
  for (const ReadPurpose& purpose : JoinedOf(ticket))
    ShareBelow(ticket, purpose);
}

std::vector<ReadPurpose> DomainSource::JoinedOf(std::uint64_t ticket) const {
  base::MutexLock lock(&mutex_);
  const auto found = joined_.find(ticket);
  return found == joined_.end() ? std::vector<ReadPurpose>() : found->second;
}

void DomainSource::Leave(std::uint64_t ticket) {
  if (ticket == 0) return;
  base::MutexLock lock(&mutex_);
  joined_.erase(ticket);
}

absl::StatusOr<std::shared_ptr<DomainSource::Domain>> DomainSource::FindLocked(
    const std::string& name) {
  if (ending_) return absl::CancelledError("the daemon is shutting down");
  const auto found = domains_.find(name);
  if (found == domains_.end()) return nullptr;
  found->second->used_at_nanos = options_.clock->NowNanos();
  return found->second;
}

DomainSource::Domains::iterator DomainSource::FindIdleLocked() {
  auto oldest = domains_.end();
  for (auto entry = domains_.begin(); entry != domains_.end(); ++entry) {
    const std::shared_ptr<Domain>& domain = entry->second;
    if (!IsLimited(entry->first) || !IsIdle(domain)) continue;
    if (oldest == domains_.end() ||
        domain->used_at_nanos < oldest->second->used_at_nanos)
      oldest = entry;
  }
  return oldest;
}

absl::Status DomainSource::MakeRoomLocked(const std::string& name) {
  if (!IsLimited(name)) return absl::OkStatus();
  const auto count =
      std::count_if(domains_.begin(), domains_.end(),
                    [&](const auto& entry) { return IsLimited(entry.first); });
  if (static_cast<std::size_t>(count) < options_.most) return absl::OkStatus();
  const auto idle = FindIdleLocked();
  // Replaced sources that take long to end count, too: they still have their
  // threads.
  if (idle == domains_.end() || replaced_.size() >= options_.most)
    return absl::UnavailableError(
        absl::StrCat("is not read: ", options_.most, " ", options_.limited_kind,
                     " are read already, the most at once; ", options_.advice));
  replaced_.push_back(std::move(idle->second));
  domains_.erase(idle);
  return absl::OkStatus();
}

void DomainSource::WakeEnder() {
  if (ender_ == nullptr) {
    ender_ = std::make_unique<base::Alarm>(
        "forebay-domains", [this] { EndReplaced(); }, options_.clock);
  }
  ender_->SetFor(options_.clock->NowNanos());
}

void DomainSource::EndReplaced() {
  std::vector<std::shared_ptr<Domain>> replaced;
  {
    base::MutexLock lock(&mutex_);
    replaced.swap(replaced_);
  }
  for (const auto& domain : replaced) shares_.Remove(domain->source.get());
}

absl::StatusOr<std::shared_ptr<DomainSource::Domain>> DomainSource::FindOrMake(
    const std::string& name) {
  {
    base::MutexLock lock(&mutex_);
    auto found = FindLocked(name);
    if (!found.ok() || *found != nullptr) return found;
  }
  base::MutexLock making(&making_);
  bool replaces = false;
  {
    base::MutexLock lock(&mutex_);
    auto found = FindLocked(name);
    if (!found.ok() || *found != nullptr) return found;
    FOREBAY_RETURN_IF_ERROR(MakeRoomLocked(name));
    replaces = !replaced_.empty();
  }
  if (replaces) WakeEnder();
  auto domain = std::make_shared<Domain>();
  domain->source = options_.make(name);
  if (domain->source == nullptr)
    return absl::UnavailableError(
        "is not read: the system gives the daemon no threads");
  domain->used_at_nanos = options_.clock->NowNanos();
  shares_.Add(domain->source.get());
  base::MutexLock lock(&mutex_);
  if (ending_) return absl::CancelledError("the daemon is shutting down");
  domains_[name] = domain;
  return domain;
}

void DomainSource::ReleaseIdle() {
  std::vector<std::shared_ptr<Domain>> idle;
  {
    base::MutexLock lock(&mutex_);
    const std::int64_t since = options_.clock->NowNanos() - options_.idle_nanos;
    for (auto entry = domains_.begin(); entry != domains_.end();) {
      const std::shared_ptr<Domain>& domain = entry->second;
      const bool is_released = domain->used_at_nanos <= since && IsIdle(domain);
      if (is_released) idle.push_back(domain);
      entry = is_released ? domains_.erase(entry) : std::next(entry);
    }
  }
  for (const auto& domain : idle) shares_.Remove(domain->source.get());
  EndReplaced();
}

void DomainSource::Share(std::uint64_t ticket, const ReadPurpose& purpose) {
  {
    base::MutexLock lock(&mutex_);
    const auto found = joined_.find(ticket);
    if (found != joined_.end()) found->second.push_back(purpose);
  }
  ShareBelow(ticket, purpose);
}

void DomainSource::ShareBelow(std::uint64_t ticket,
                              const ReadPurpose& purpose) const {
  for (const auto& domain : All()) domain->source->Share(ticket, purpose);
}

SourceState DomainSource::State() const {
  SourceState sum;
  for (const auto& domain : All()) {
    const SourceState state = domain->source->State();
    sum.concurrency += state.concurrency;
    sum.in_flight += state.in_flight;
    sum.waiting += state.waiting;
    sum.stalled += state.stalled;
    sum.request_cost = std::max(sum.request_cost, state.request_cost);
  }
  return sum;
}

std::vector<std::shared_ptr<DomainSource::Domain>> DomainSource::All() const {
  std::vector<std::shared_ptr<Domain>> all;
  base::MutexLock lock(&mutex_);
  all.reserve(domains_.size());
  for (const auto& [name, domain] : domains_) all.push_back(domain);
  return all;
}

}  // namespace forebay::storage

#include "server/storage/domain_source.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/storage/wrong_domain.h"

// The mutex guards the table alone: no source reads, is made or ends with it
// held. A domain is released only while the table's reference is the last one.

namespace forebay::storage {
namespace {

// How often one read may find that it belongs to another domain.
constexpr int kMaxTries = 4;

bool IsIdle(const SourceState& state) {
  return state.in_flight == 0 && state.waiting == 0 && state.stalled == 0;
}

}  // namespace

DomainSource::~DomainSource() {
  Domains ending;
  base::MutexLock making(&making_);
  base::MutexLock lock(&mutex_);
  ending_ = true;
  ending.swap(domains_);
}

void DomainSource::Read(absl::Span<ReadRequest> requests) {
  // Requests come many at a time, mostly of one domain: those go on together.
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

void DomainSource::Send(const std::string& domain,
                        absl::Span<ReadRequest> requests, int tries) {
  const auto found = FindOrMake(domain);
  if (!found.ok()) {
    for (ReadRequest& request : requests)
      request.done(base::Annotate(found.status(), request.object));
    return;
  }
  if (options_.objects_move) {
    for (ReadRequest& request : requests) Watch(&request, domain, tries);
  }
  (*found)->source->Read(requests);
}

void DomainSource::Watch(ReadRequest* request, const std::string& domain,
                         int tries) {
  if (tries == kMaxTries) return;
  // A copy without `done`, to be read again.
  ReadDone done = std::exchange(request->done, nullptr);
  request->done = [this, domain, tries, again = *request,
                   done = std::move(done)](absl::StatusOr<ReadResult> result) {
    if (result.ok() || !IsWrongDomain(result.status()))
      return done(std::move(result));
    ReadRequest repeated = again;
    repeated.done = done;
    const std::string other = options_.domain_of(repeated);
    Send(other, {&repeated, 1}, other == domain ? kMaxTries : tries + 1);
  };
}

absl::StatusOr<std::shared_ptr<DomainSource::Domain>> DomainSource::FindLocked(
    const std::string& name) {
  if (ending_) return absl::CancelledError("the daemon is shutting down");
  const auto found = domains_.find(name);
  if (found == domains_.end()) return nullptr;
  found->second->used_at_nanos = options_.clock->NowNanos();
  return found->second;
}

absl::Status DomainSource::CheckRoomLocked(const std::string& name) const {
  const auto is_limited = [this](const std::string& domain) {
    return options_.is_limited == nullptr || options_.is_limited(domain);
  };
  if (!is_limited(name)) return absl::OkStatus();
  const auto count =
      std::count_if(domains_.begin(), domains_.end(),
                    [&](const auto& entry) { return is_limited(entry.first); });
  if (static_cast<std::size_t>(count) < options_.most) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("is not read: ", options_.most, " ", options_.limited_kind,
                   " are read already, the most at once; ", options_.advice));
}

absl::StatusOr<std::shared_ptr<DomainSource::Domain>> DomainSource::FindOrMake(
    const std::string& name) {
  {
    base::MutexLock lock(&mutex_);
    auto found = FindLocked(name);
    if (!found.ok() || *found != nullptr) return found;
  }
  base::MutexLock making(&making_);
  {
    base::MutexLock lock(&mutex_);
    auto found = FindLocked(name);
    if (!found.ok() || *found != nullptr) return found;
    FOREBAY_RETURN_IF_ERROR(CheckRoomLocked(name));
  }
  auto made = std::make_shared<Domain>();
  made->source = options_.make(name);
  if (made->source == nullptr)
    return absl::UnavailableError(
        "is not read: the system gives the daemon no threads");
  made->used_at_nanos = options_.clock->NowNanos();
  shares_.Add(made->source.get());
  base::MutexLock lock(&mutex_);
  if (ending_) return absl::CancelledError("the daemon is shutting down");
  domains_[name] = made;
  return made;
}

void DomainSource::ReleaseIdle() {
  std::vector<std::shared_ptr<Domain>> idle;
  {
    base::MutexLock lock(&mutex_);
    const std::int64_t since = options_.clock->NowNanos() - options_.idle_nanos;
    for (auto entry = domains_.begin(); entry != domains_.end();) {
      const std::shared_ptr<Domain>& domain = entry->second;
      const bool is_released = domain->used_at_nanos <= since &&
                               domain.use_count() == 1 &&
                               IsIdle(domain->source->State());
      if (is_released) idle.push_back(domain);
      entry = is_released ? domains_.erase(entry) : std::next(entry);
    }
  }
  for (const auto& domain : idle) shares_.Remove(domain->source.get());
}

void DomainSource::Share(std::uint64_t ticket, const ReadPurpose& purpose) {
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

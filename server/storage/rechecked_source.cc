#include "server/storage/rechecked_source.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"

namespace forebay::storage {
namespace {

// Each try reads a newer revision than the one before.
constexpr int kMaxTries = 8;

// The CPU time that is expected of parsing a byte.
constexpr std::int64_t kNanosOfByte = 1;

// The result of a check's read, on its way to a task. If the task is dropped,
// the read was cancelled.
class Delivery {
 public:
  Delivery(std::string object, ReadDone done, absl::StatusOr<ReadResult> result)
      : object_(std::move(object)),
        done_(std::move(done)),
        result_(std::move(result)) {}
  ~Delivery() {
    if (done_ == nullptr) return;
    done_(absl::CancelledError(
        absl::StrCat(object_, ": the daemon is shutting down")));
  }
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  void Deliver() { std::exchange(done_, nullptr)(std::move(result_)); }

 private:
  const std::string object_;
  ReadDone done_;
  absl::StatusOr<ReadResult> result_;
};

}  // namespace

struct RecheckedSource::Watched {
  ReadRequest request;  // without its `done`
  ReadDone done;
  int tries = 0;
  // The source's mutex guards these.
  std::vector<ReadPurpose> joined;
  std::shared_ptr<Look> look;  // that it waits for
};

struct RecheckedSource::Look {
  // Its reads have the ticket of the read that began it, which is not in flight
  // meanwhile.
  std::uint64_t ticket = 0;
  LookKey key;
  // The source's mutex guards these.
  std::vector<std::shared_ptr<Watched>> waiting;
  std::map<std::uint64_t, std::uint64_t> urgencies;  // of the payers, by job

  // Adds the purpose's payers. Returns whether one is new, or more urgent.
  bool Add(const ReadPurpose& purpose) {
    bool changes = false;
    for (const std::uint64_t payer : PayersOf(purpose)) {
      const auto [known, is_new] = urgencies.emplace(payer, purpose.urgency);
      changes |= is_new || purpose.urgency < known->second;
      known->second = std::min(known->second, purpose.urgency);
    }
    return changes;
  }
};

void RecheckedSource::Read(absl::Span<ReadRequest> requests) {
  // The reads of checks are among these.
  std::vector<std::uint64_t> unwatched;
  for (ReadRequest& request : requests) {
    if (request.layout != nullptr) {
      request = Watch(std::move(request));
    } else if (request.ticket != 0) {
      unwatched.push_back(request.ticket);
    }
  }
  ReadBelow(requests, unwatched);
}

void RecheckedSource::CheckReads::Read(absl::Span<ReadRequest> requests) {
  for (ReadRequest& request : requests) {
    request.done = [source = source_, object = request.object,
                    purpose = request.purpose, length = request.length,
                    done = std::exchange(request.done, nullptr)](
                       absl::StatusOr<ReadResult> result) {
      auto delivery =
          std::make_shared<Delivery>(object, done, std::move(result));
      source->run_(purpose, static_cast<std::int64_t>(length) * kNanosOfByte,
                   [delivery = std::move(delivery)] { delivery->Deliver(); });
    };
  }
  source_->Read(requests);
}

void RecheckedSource::ReadBelow(absl::Span<ReadRequest> requests,
                                absl::Span<const std::uint64_t> shared) {
  below_.Read(requests);
  ShareAgain(shared);
}

ReadRequest RecheckedSource::Watch(ReadRequest request) {
  auto watched = std::make_shared<Watched>();
  watched->done = std::exchange(request.done, nullptr);
  watched->request = std::move(request);
  if (const std::uint64_t ticket = watched->request.ticket; ticket != 0) {
    base::MutexLock lock(&mutex_);
    watched_[ticket] = watched;
  }
  return RequestFor(watched);
}

ReadRequest RecheckedSource::RequestFor(
    const std::shared_ptr<Watched>& watched) {
  ReadRequest request = watched->request;
  request.done = [this, watched](absl::StatusOr<ReadResult> result) {
    Complete(watched, std::move(result));
  };
  return request;
}

void RecheckedSource::Complete(const std::shared_ptr<Watched>& watched,
                               absl::StatusOr<ReadResult> result) {
  const bool touched = absl::IsAborted(result.status());
  if (touched && ++watched->tries < kMaxTries) return LookAgain(watched);
  if (touched) {
    result = absl::FailedPreconditionError(
        absl::StrCat(watched->request.object, ": is changed again and again"));
  }
  Finish(*watched, std::move(result));
}

void RecheckedSource::Finish(Watched& watched,
                             absl::StatusOr<ReadResult> result) {
  if (watched.request.ticket != 0) {
    base::MutexLock lock(&mutex_);
    watched_.erase(watched.request.ticket);
  }
  watched.done(std::move(result));
}

void RecheckedSource::LookAgain(const std::shared_ptr<Watched>& watched) {
  const ReadRequest& read = watched->request;
  std::shared_ptr<Look> look;
  bool begins = false;
  std::vector<ReadPurpose> shares;
  {
    base::MutexLock lock(&mutex_);
    LookKey key(read.layout.get(), read.object);
    std::shared_ptr<Look>& known = looks_[key];
    begins = known == nullptr;
    if (begins) {
      known = std::make_shared<Look>();
      known->ticket = read.ticket;
      known->key = std::move(key);
    }
    known->waiting.push_back(watched);
    watched->look = look = known;
    shares = watched->joined;
    shares.push_back(read.purpose);
    std::erase_if(shares, [&look](const ReadPurpose& purpose) {
      return !look->Add(purpose);
    });
  }
  if (begins) {
    read.layout->LookAgain(
        read, checks_,
        [this, look](const absl::StatusOr<Revision>& now) { Saw(look, now); });
  } else {
    for (const ReadPurpose& purpose : shares)
      below_.Share(look->ticket, purpose);
  }
}

void RecheckedSource::Saw(const std::shared_ptr<Look>& look,
                          const absl::StatusOr<Revision>& now) {
  std::vector<std::shared_ptr<Watched>> waiting;
  {
    base::MutexLock lock(&mutex_);
    looks_.erase(look->key);
    waiting.swap(look->waiting);
    for (const auto& watched : waiting) watched->look = nullptr;
  }
  std::vector<ReadRequest> again;
  std::vector<std::uint64_t> tickets;
  for (const auto& watched : waiting) {
    if (!now.ok()) {
      Finish(*watched, now.status());
      continue;
    }
    watched->request.version.revision = *now;
    again.push_back(RequestFor(watched));
    if (again.back().ticket != 0) tickets.push_back(again.back().ticket);
  }
  if (!again.empty()) ReadBelow(absl::MakeSpan(again), tickets);
}

void RecheckedSource::ShareAgain(absl::Span<const std::uint64_t> tickets) {
  std::vector<std::pair<std::uint64_t, ReadPurpose>> shares;
  {
    base::MutexLock lock(&mutex_);
    for (const std::uint64_t ticket : tickets) {
      const auto found = watched_.find(ticket);
      if (found == watched_.end()) continue;
      const Watched& watched = *found->second;
      if (watched.look != nullptr) {
        for (const auto& [job, urgency] : watched.look->urgencies)
          shares.push_back({ticket, {.job = job, .urgency = urgency}});
      } else {
        for (const ReadPurpose& purpose : watched.joined)
          shares.emplace_back(ticket, purpose);
      }
    }
  }
  for (const auto& [ticket, purpose] : shares) below_.Share(ticket, purpose);
}

void RecheckedSource::Share(std::uint64_t ticket, const ReadPurpose& purpose) {
  {
    base::MutexLock lock(&mutex_);
    const auto found = watched_.find(ticket);
    if (found != watched_.end()) {
      Watched& watched = *found->second;
      watched.joined.push_back(purpose);
      if (watched.look != nullptr) {
        watched.look->Add(purpose);
        ticket = watched.look->ticket;
      }
    }
  }
  below_.Share(ticket, purpose);
}

}  // namespace forebay::storage

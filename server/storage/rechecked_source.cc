#include "server/storage/rechecked_source.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"

// The life of a read whose object has been touched:
// 1. The source below answers ABORTED: the file has the size and mtime of its
//    index, but another ctime.
// 2. The read waits for a check (a Look) of its layout and object. The first
//    such read begins the check; later reads join it.
// 3. The layout reads its parts again through CheckReads, one at a time. Each
//    has the ticket of the read that began the check. The ticket is free,
//    because that read is not in flight meanwhile.
// 4. The check ends with the current revision, and all waiting reads are
//    repeated at that revision. If the layout is another one, the check ends
//    with an error.
//
// A reader that shares a waiting read also joins the check that the read waits
// for. When the read is repeated, ShareAgain tells the source below again of
// all readers of the read.

namespace forebay::storage {
namespace {

// The most times that a read is made, each time at a newer revision.
constexpr int kMaxTries = 8;

// The CPU time that parsing a byte of an index is expected to take.
constexpr std::int64_t kNanosOfByte = 1;

// The result of a check's read, on its way to a task. If the executor drops the
// task, the destructor gives CANCELLED to the read.
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
  ReadRequest request;  // its `done` is empty
  ReadDone done;
  int tries = 0;
  // The source's mutex guards `joined` and `look`. `joined` has the readers
  // that have shared the read.
  std::vector<ReadPurpose> joined;
  // The check that the read waits for, if any.
  std::shared_ptr<Look> look;
};

struct RecheckedSource::Look {
  // The ticket of the read that began the check. The check's own reads use the
  // same ticket, because the first read is not in flight until the check ends.
  std::uint64_t ticket = 0;
  LookKey key;
  // The source's mutex guards `waiting` and `urgencies`. `waiting` has the
  // reads that wait for the check.
  std::vector<std::shared_ptr<Watched>> waiting;
  // The urgency of each payer, by its job.
  std::map<std::uint64_t, std::uint64_t> urgencies;

  // Adds the payers of a purpose. Returns whether a payer is new or more
  // urgent, so that the check's reads must be shared.
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
  // The tickets of reads without a layout, among them the reads of checks.
  // Readers may have joined a check before its next read was sent.
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
  if (touched && ++watched->tries < kMaxTries) return Revalidate(watched);
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

void RecheckedSource::Revalidate(const std::shared_ptr<Watched>& watched) {
  const ReadRequest& read = watched->request;
  std::shared_ptr<Look> look;
  bool begins = false;
  std::vector<ReadPurpose> shares;
  {
    base::MutexLock lock(&mutex_);
    LookKey key(read.layout.get(), read.object);
    std::shared_ptr<Look>& entry = looks_[key];
    begins = entry == nullptr;
    if (begins) {
      entry = std::make_shared<Look>();
      entry->ticket = read.ticket;
      entry->key = std::move(key);
    }
    entry->waiting.push_back(watched);
    watched->look = look = entry;
    shares = watched->joined;
    shares.push_back(read.purpose);
    std::erase_if(shares, [&look](const ReadPurpose& purpose) {
      return !look->Add(purpose);
    });
  }
  if (begins) {
    read.layout->Revalidate(
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

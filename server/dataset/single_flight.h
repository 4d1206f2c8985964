#ifndef FOREBAY_SERVER_DATASET_SINGLE_FLIGHT_H_
#define FOREBAY_SERVER_DATASET_SINGLE_FLIGHT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/base/mutex.h"
#include "server/dataset/opening.h"

namespace forebay::dataset {

// Finds the item of a key, such as a dataset's index, for many callers. One
// caller at a time searches for a key. Those that waited search after it, and
// know what it found. If a search found that its host does not answer, those
// that waited for it do not ask again. All callers share an item as long as any
// of them holds it. A search's reads count for the jobs of all callers that
// wait for it.
//
// Thread-safe. Owns no item. Find blocks for the search and for other searches
// of its key. A caller that waits returns soon after its stop is requested. The
// one that searches goes on as long as any caller of its key has not stopped.
template <typename Key, typename Item>
class SingleFlight {
 public:
  using ItemPtr = std::shared_ptr<const Item>;
  // The knowledge that a search begins with.
  struct Known {
    ItemPtr item;         // found before; null if no caller holds it
    bool waited = false;  // whether the caller waited for another search
  };
  // Finds the item, which may be the known one. If it is not, it lets that go
  // before it makes another. Ends early when `stop` is requested.
  using Search = std::function<absl::StatusOr<ItemPtr>(
      Known known, const std::stop_token& stop)>;

  // Errors: those of the search; CANCELLED: the opening was stopped while it
  // waited, which names `what` was to be found.
  absl::StatusOr<ItemPtr> Find(const Key& key, const std::string& what,
                               const Opening& opening, const Search& search) {
    Caller caller{.opening = opening};
    Enter(key, caller);
    absl::StatusOr<ItemPtr> found;
    {
      const std::stop_callback on_stop(opening.stop, [this, &caller] {
        base::MutexLock lock(&mutex_);
        caller.stopped = true;
        LeaveLocked(caller);
        if (caller.entry->waiting.empty()) caller.entry->stop.request_stop();
        changed_.NotifyAll();
      });
      found = FindFor(caller, what, search);
    }
    base::MutexLock lock(&mutex_);
    --caller.entry->callers;
    if (!caller.stopped) LeaveLocked(caller);
    return found;
  }

  // Calls `visit` with each item that somebody holds. `visit` must not block.
  void ForEach(const std::function<void(const Key&, const Item&)>& visit) {
    base::MutexLock lock(&mutex_);
    for (const auto& [key, entry] : entries_) {
      if (const ItemPtr item = entry.item.lock()) visit(key, *item);
    }
  }

 private:
  struct Entry;
  // A call of Find, which keeps its entry in place. Guarded by the mutex.
  struct Caller {
    const Opening& opening;
    Entry* entry = nullptr;
    bool stopped = false;
  };
  struct Entry {
    std::weak_ptr<const Item> item;
    bool searching = false;  // a caller searches, without the mutex
    std::stop_source stop;   // ends that search
    // The source of that search's reads; null if nobody pays for them.
    storage::PaidSource* reads = nullptr;
    int callers = 0;               // in Find
    std::vector<Caller*> waiting;  // the callers that have not stopped
    std::uint64_t begun = 0;       // searches
    // The number of the last search that failed as UNAVAILABLE, and its error.
    std::uint64_t failed = 0;
    absl::Status failure;
  };

  void Enter(const Key& key, Caller& caller) {
    base::MutexLock lock(&mutex_);
    std::erase_if(entries_, [](const auto& item) {
      return item.second.callers == 0 && item.second.item.expired();
    });
    Entry& entry = entries_[key];
    caller.entry = &entry;
    ++entry.callers;
    entry.waiting.push_back(&caller);
    SetPayersLocked(entry);
  }

  void LeaveLocked(Caller& caller) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::erase(caller.entry->waiting, &caller);
    SetPayersLocked(*caller.entry);
  }

  // All callers that wait for the search pay for its reads.
  void SetPayersLocked(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (entry.reads == nullptr) return;
    std::vector<std::uint64_t> jobs;
    for (const Caller* const caller : entry.waiting) {
      if (caller->opening.reads != nullptr)
        jobs.push_back(caller->opening.reads->job());
    }
    entry.reads->SetPayers(jobs);
  }

  absl::StatusOr<ItemPtr> FindFor(const Caller& caller, const std::string& what,
                                  const Search& search) {
    Entry& entry = *caller.entry;
    Known known;
    std::stop_token stop;
    std::uint64_t number;
    {
      base::MutexLock lock(&mutex_);
      const std::uint64_t awaited = entry.begun;
      while (entry.searching && !caller.stopped) {
        known.waited = true;
        changed_.Wait(&mutex_);
        if (entry.failed >= awaited && !caller.stopped) return entry.failure;
      }
      if (caller.stopped)
        return absl::CancelledError(
            absl::StrCat(what, ": was not looked into"));
      entry.searching = true;
      number = ++entry.begun;
      entry.stop = std::stop_source();
      stop = entry.stop.get_token();
      entry.reads = caller.opening.reads;
      SetPayersLocked(entry);
      known.item = entry.item.lock();
    }
    absl::StatusOr<ItemPtr> found = search(std::move(known), stop);
    base::MutexLock lock(&mutex_);
    entry.searching = false;
    // The caller's further reads are its own.
    if (entry.reads != nullptr) entry.reads->SetPayers({entry.reads->job()});
    entry.reads = nullptr;
    changed_.NotifyAll();
    if (found.ok()) entry.item = *found;
    if (absl::IsUnavailable(found.status())) {
      entry.failed = number;
      entry.failure = found.status();
    }
    return found;
  }

  base::Mutex mutex_;
  base::CondVar changed_;
  // Entries in use are not erased: their addresses stay.
  std::map<Key, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_SINGLE_FLIGHT_H_

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

// Finds the item of a key, such as a dataset's index, for many callers. At most
// one caller at a time searches for a key. A caller that waited for another
// caller's search then searches itself, and starts from the item that the other
// search found. If a search fails with UNAVAILABLE, the callers that waited for
// it get its error. All callers share an item as long as any of them holds it.
// A search's reads are charged to the jobs of all callers that wait for it.
//
// Thread-safe. Owns no item. Find blocks for its own search, and for other
// callers' searches of the same key. A waiting caller returns soon after its
// `opening.stop` is requested. A searching caller goes on until all callers of
// the same key have stopped. Errors are those of the search, and CANCELLED.
template <typename Key, typename Item>
class SingleFlight {
 public:
  using ItemPtr = std::shared_ptr<const Item>;
  // The item from which a search starts, if any.
  struct Start {
    ItemPtr item;         // found by an earlier search; null if nobody holds it
    bool waited = false;  // whether the caller waited for another search
  };
  // Returns the item, which may be `start.item`. If `start.item` is out of
  // date, the search drops it before it builds a new item, to save memory. Ends
  // early when `stop` is requested.
  using Search = std::function<absl::StatusOr<ItemPtr>(
      Start start, const std::stop_token& stop)>;

  // Returns the item of `key`. Errors: those of the search; CANCELLED, naming
  // `what`: the opening was stopped while it waited for another search.
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

  // Calls `visit` with each item that any caller holds. `visit` must not block.
  void ForEach(const std::function<void(const Key&, const Item&)>& visit) {
    base::MutexLock lock(&mutex_);
    for (const auto& [key, entry] : entries_) {
      if (const ItemPtr item = entry.item.lock()) visit(key, *item);
    }
  }

 private:
  struct Entry;
  // A call of Find in progress. Its entry is not erased meanwhile. Guarded by
  // the mutex.
  struct Caller {
    const Opening& opening;
    Entry* entry = nullptr;
    bool stopped = false;
  };
  // The state of one key, shared by its callers.
  struct Entry {
    std::weak_ptr<const Item> item;
    bool searching = false;  // a caller searches, without holding the mutex
    std::stop_source stop;   // ends that search
    // The source of that search's reads. Null if no job pays for them.
    storage::PaidSource* reads = nullptr;
    int callers = 0;               // calls of Find in progress
    std::vector<Caller*> waiting;  // the callers that have not stopped
    std::uint64_t begun = 0;       // number of searches so far
    // The number of the last search that failed with UNAVAILABLE, and its
    // error.
    std::uint64_t failed = 0;
    absl::Status failure;
  };

  // Adds a caller to the entry of `key`, and erases entries that nobody uses.
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

  // Removes a caller that has stopped or is done; its job no longer pays.
  void LeaveLocked(Caller& caller) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::erase(caller.entry->waiting, &caller);
    SetPayersLocked(*caller.entry);
  }

  // Charges the search's reads to the jobs of all callers that wait for it.
  void SetPayersLocked(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (entry.reads == nullptr) return;
    std::vector<std::uint64_t> jobs;
    for (const Caller* const caller : entry.waiting) {
      if (caller->opening.reads != nullptr)
        jobs.push_back(caller->opening.reads->job());
    }
    entry.reads->SetPayers(jobs);
  }

  // Waits until no other caller searches for the key, and then searches.
  absl::StatusOr<ItemPtr> FindFor(const Caller& caller, const std::string& what,
                                  const Search& search) {
    Entry& entry = *caller.entry;
    Start start;
    std::stop_token stop;
    std::uint64_t number;
    {
      base::MutexLock lock(&mutex_);
      const std::uint64_t awaited = entry.begun;
      while (entry.searching && !caller.stopped) {
        start.waited = true;
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
      start.item = entry.item.lock();
    }
    absl::StatusOr<ItemPtr> found = search(std::move(start), stop);
    base::MutexLock lock(&mutex_);
    entry.searching = false;
    // Only this caller's job pays for reads that this opening makes later.
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
  // Entries in use are not erased, and a map's nodes do not move: callers may
  // keep pointers to entries.
  std::map<Key, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_SINGLE_FLIGHT_H_

#ifndef FOREBAY_SERVER_DATASET_SINGLE_FLIGHT_H_
#define FOREBAY_SERVER_DATASET_SINGLE_FLIGHT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/base/mutex.h"

namespace forebay::dataset {

// Finds the item of a key, such as a dataset's index, for many callers. One
// caller at a time searches for a key. Those that waited search after it, and
// know what it found. If a search found that its host does not answer, those
// that waited for it do not ask again. All callers share an item as long as any
// of them holds it.
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

  // Errors: those of the search; CANCELLED: `stop` was requested while it
  // waited, which names `what` was to be found.
  absl::StatusOr<ItemPtr> Find(const Key& key, const std::string& what,
                               const std::stop_token& stop,
                               const Search& search) {
    Caller caller{.entry = Enter(key)};
    absl::StatusOr<ItemPtr> found;
    {
      const std::stop_callback on_stop(stop, [this, &caller] {
        base::MutexLock lock(&mutex_);
        caller.stopped = true;
        if (--caller.entry->waiting == 0) caller.entry->stop.request_stop();
        changed_.NotifyAll();
      });
      found = FindFor(caller, what, search);
    }
    base::MutexLock lock(&mutex_);
    --caller.entry->callers;
    if (!caller.stopped) --caller.entry->waiting;
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
  struct Entry {
    std::weak_ptr<const Item> item;
    bool searching = false;   // a caller searches, without the mutex
    std::stop_source stop;    // ends that search
    int callers = 0;          // in Find
    int waiting = 0;          // of these, those that have not stopped
    std::uint64_t begun = 0;  // searches
    // The number of the last search that failed as UNAVAILABLE, and its error.
    std::uint64_t failed = 0;
    absl::Status failure;
  };
  // A call of Find, which keeps its entry in place. Guarded by the mutex.
  struct Caller {
    Entry* entry = nullptr;
    bool stopped = false;
  };

  Entry* Enter(const Key& key) {
    base::MutexLock lock(&mutex_);
    std::erase_if(entries_, [](const auto& item) {
      return item.second.callers == 0 && item.second.item.expired();
    });
    Entry& entry = entries_[key];
    ++entry.callers;
    ++entry.waiting;
    return &entry;
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
      known.item = entry.item.lock();
    }
    absl::StatusOr<ItemPtr> found = search(std::move(known), stop);
    base::MutexLock lock(&mutex_);
    entry.searching = false;
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

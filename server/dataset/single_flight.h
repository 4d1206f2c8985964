#ifndef FOREBAY_SERVER_DATASET_SINGLE_FLIGHT_H_
#define FOREBAY_SERVER_DATASET_SINGLE_FLIGHT_H_

#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "server/base/mutex.h"
#include "server/base/status.h"

namespace forebay::dataset {

// What belongs to a key, which takes long to find: it is searched for by one
// caller at a time, and is shared by all as long as any of them uses it. Who
// waited begins a search of its own, knowing what was found meanwhile.
//
// Thread-safe; owns nothing that it hands out. Find blocks for the search, and
// for others of the same key, but not for long once its stop is requested; a
// search goes on as long as anybody who waits wants its result.
template <typename Key, typename Item>
class SingleFlight {
 public:
  using ItemPtr = std::shared_ptr<const Item>;
  // Is given what was found before, if it is still in use, else null; may well
  // return that. Ends early when `stop` is requested.
  using Search = std::function<absl::StatusOr<ItemPtr>(
      const ItemPtr& known, const std::stop_token& stop)>;

  // Errors: those of the search; CANCELLED: it was stopped.
  absl::StatusOr<ItemPtr> Find(const Key& key, const std::stop_token& stop,
                               const Search& search) {
    Visit visit{.entry = Enter(key)};
    absl::StatusOr<ItemPtr> found;
    {
      const std::stop_callback on_stop(stop, [this, &visit] {
        base::MutexLock lock(&mutex_);
        visit.wishes = false;
        if (--visit.entry->wishes == 0) visit.entry->stop.request_stop();
        changed_.NotifyAll();
      });
      found = FindFor(visit, search);
    }
    base::MutexLock lock(&mutex_);
    --visit.entry->visitors;
    if (visit.wishes) --visit.entry->wishes;
    return found;
  }

 private:
  struct Entry {
    std::weak_ptr<const Item> item;
    // Whether somebody searches, with the mutex released.
    bool busy = false;
    // Ends that search.
    std::stop_source stop;
    // Those in Find, and how many of them still want what is found.
    int visitors = 0;
    int wishes = 0;
  };
  // A call of Find: keeps its entry in place, and wishes for what is found
  // until it is stopped. For who holds the mutex.
  struct Visit {
    Entry* entry = nullptr;
    bool wishes = true;
  };

  Entry* Enter(const Key& key) {
    base::MutexLock lock(&mutex_);
    std::erase_if(entries_, [](const auto& item) {
      return item.second.visitors == 0 && item.second.item.expired();
    });
    Entry& entry = entries_[key];
    ++entry.visitors;
    ++entry.wishes;
    return &entry;
  }

  absl::StatusOr<ItemPtr> FindFor(const Visit& visit, const Search& search) {
    Entry& entry = *visit.entry;
    ItemPtr known;
    std::stop_token stop;
    {
      base::MutexLock lock(&mutex_);
      while (entry.busy && visit.wishes) changed_.Wait(&mutex_);
      if (!visit.wishes) return absl::CancelledError("was not looked into");
      entry.busy = true;
      entry.stop = std::stop_source();
      stop = entry.stop.get_token();
      known = entry.item.lock();
    }
    absl::StatusOr<ItemPtr> found = search(known, stop);
    base::MutexLock lock(&mutex_);
    entry.busy = false;
    changed_.NotifyAll();
    if (found.ok()) entry.item = *found;
    return found;
  }

  base::Mutex mutex_;
  base::CondVar changed_;
  // Entries in use are not erased: their addresses stay.
  std::map<Key, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_SINGLE_FLIGHT_H_

#ifndef FOREBAY_SERVER_CACHE_DISK_ENTRY_QUEUE_H_
#define FOREBAY_SERVER_CACHE_DISK_ENTRY_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/cache/disk/store_entry.h"

namespace forebay::cache::disk {

// The entries that wait to be written, oldest first. Their memory is bounded:
// the queue refuses entries beyond the bound. An entry's memory counts from
// Push to Written.
//
// Thread-safe, but one thread alone calls Await and Written. Owns the entries
// that wait. Await blocks while no entry waits; nothing else blocks. No errors.
class EntryQueue {
 public:
  // Creates a queue whose entries take at most `capacity` bytes of memory.
  explicit EntryQueue(std::uint64_t capacity) : capacity_(capacity) {}

  // Adds an entry, and wakes the thread in Await. Returns false, and adds
  // nothing, if the entry's memory exceeds what is left.
  bool Push(StoreEntry entry);
  // Waits for entries, and moves the oldest of them to `batch`: as many as have
  // `batch_bytes` bytes of data, or all. Returns false if End was called and no
  // entry is left.
  bool Await(std::size_t batch_bytes, std::vector<StoreEntry>* batch);
  // Gives back `memory` bytes, those of entries that Await returned.
  void Written(std::uint64_t memory);
  // Makes Await return false once no entry is left.
  void End();

  // Returns the memory of the entries that are not yet written, in bytes.
  std::uint64_t memory() const;

 private:
  const std::uint64_t capacity_;  // bytes

  mutable base::Mutex mutex_;
  base::CondVar entry_or_end_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<StoreEntry> entries_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t memory_ ABSL_GUARDED_BY(mutex_) = 0;  // see memory()
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_ENTRY_QUEUE_H_

#include "server/cache/disk/entry_queue.h"

#include <utility>

namespace forebay::cache::disk {

bool EntryQueue::Push(StoreEntry entry) {
  const std::uint64_t memory = entry.memory();
  base::MutexLock lock(&mutex_);
  if (memory > capacity_ - memory_) return false;
  memory_ += memory;
  entries_.push_back(std::move(entry));
  entry_or_end_.NotifyOne();
  return true;
}

bool EntryQueue::Await(std::size_t batch_bytes,
                       std::vector<StoreEntry>* batch) {
  base::MutexLock lock(&mutex_);
  while (entries_.empty()) {
    if (ending_) return false;
    entry_or_end_.Wait(&mutex_);
  }
  for (std::uint64_t bytes = 0; bytes < batch_bytes && !entries_.empty();) {
    bytes += entries_.front().bytes.size();
    batch->push_back(std::move(entries_.front()));
    entries_.pop_front();
  }
  return true;
}

void EntryQueue::Written(std::uint64_t memory) {
  base::MutexLock lock(&mutex_);
  memory_ -= memory;
}

void EntryQueue::End() {
  {
    base::MutexLock lock(&mutex_);
    ending_ = true;
  }
  entry_or_end_.NotifyAll();
}

std::uint64_t EntryQueue::memory() const {
  base::MutexLock lock(&mutex_);
  return memory_;
}

}  // namespace forebay::cache::disk

#include "server/storage/local/open_files.h"

#include <iterator>

namespace forebay::storage::local {

OpenFiles::OpenFiles(Ring* ring, std::size_t most) : ring_(ring), most_(most) {
  for (std::size_t number = ring->ReserveFiles(most); number-- > 0;)
    free_numbers_.push_back(static_cast<unsigned>(number));
}

std::shared_ptr<const OpenFiles::File> OpenFiles::Find(
    const ReadRequest& request) {
  const auto entry = Lookup(request);
  if (entry == entries_.end()) return nullptr;
  // A new root may have the address of one that is gone.
  if (entry->root.lock() != request.root) {
    Erase(entry);
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, entry);
  return entry->file;
}

std::shared_ptr<const OpenFiles::File> OpenFiles::Keep(
    const ReadRequest& request, File file) {
  Drop(request);
  if (entries_.size() >= most_ && !MakeRoom())
    return std::make_shared<const File>(std::move(file));
  std::shared_ptr<const File> shared_file = Share(std::move(file));
  entries_.push_front(
      {request.root, {request.root.get(), request.object}, shared_file});
  places_[entries_.front().key] = entries_.begin();
  return shared_file;
}

void OpenFiles::Drop(const ReadRequest& request) {
  const auto entry = Lookup(request);
  if (entry != entries_.end()) Erase(entry);
}

void OpenFiles::DropOrphans() {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->root.expired()) Erase(entry);
    entry = next;
  }
}

OpenFiles::Entries::iterator OpenFiles::Lookup(const ReadRequest& request) {
  const auto place = places_.find({request.root.get(), request.object});
  return place == places_.end() ? entries_.end() : place->second;
}

void OpenFiles::Erase(Entries::iterator entry) {
  places_.erase(entry->key);
  entries_.erase(entry);
}

// A number is free again only when no read can use it any more.
std::shared_ptr<const OpenFiles::File> OpenFiles::Share(File file) {
  if (!free_numbers_.empty() &&
      ring_->RegisterFile(free_numbers_.back(), file.fd.get())) {
    file.number = free_numbers_.back();
    free_numbers_.pop_back();
  }
  return {new File(std::move(file)), [this](const File* unused) {
            if (unused->number.has_value()) {
              ring_->UnregisterFile(*unused->number);
              free_numbers_.push_back(*unused->number);
            }
            delete unused;
          }};
}

bool OpenFiles::MakeRoom() {
  for (auto entry = entries_.end(); entry != entries_.begin();) {
    --entry;
    if (entry->file.use_count() > 1) continue;
    Erase(entry);
    return true;
  }
  return false;
}

}  // namespace forebay::storage::local

#ifndef FOREBAY_CLIENT_SHM_SLOT_MAP_H_
#define FOREBAY_CLIENT_SHM_SLOT_MAP_H_

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "client/base/status.h"
#include "client/shm/private_pages.h"
#include "proto/fd.h"

namespace forebay::client::shm {

// The private mapping of a slot, the memory of one batch. The mapping shows
// what the daemon writes. This process's own writes stay private, and
// DropPrivatePages discards them.
//
// Threads may use the mapping as they may use any memory. Watch and
// DropPrivatePages belong to one thread at a time. Owns the mapping. Never
// blocks. Errors: named at Map.
class SlotMapping {
 public:
  // Maps `bytes` bytes of `fd`. Fails if the memory cannot be mapped, or is
  // smaller than `bytes`: touching bytes past its end would kill the process by
  // SIGBUS.
  static Status Map(int fd, std::uint64_t bytes,
                    std::shared_ptr<PrivatePages> pages,
                    std::shared_ptr<SlotMapping>* out);
  ~SlotMapping();
  SlotMapping(const SlotMapping&) = delete;
  SlotMapping& operator=(const SlotMapping&) = delete;

  std::uint8_t* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }
  // Whether `fd` is a descriptor of the mapped memory.
  bool IsOf(int fd) const;

  // Prepares the pages for DropPrivatePages. Must be called before the user
  // gets the memory and may write to it.
  void Watch();
  // Makes all pages show what the daemon writes. The user must no longer use
  // the memory.
  void DropPrivatePages() { pages_->Drop(data_, bytes_); }
  // Keeps the present content until DropPrivatePages is called, whatever the
  // daemon writes. Any thread.
  void MakePrivate() { MakePagesPrivate(data_, bytes_); }

 private:
  SlotMapping(std::uint8_t* data, std::uint64_t bytes,
              const struct stat& status, std::shared_ptr<PrivatePages> pages);

  std::uint8_t* const data_;
  const std::uint64_t bytes_;
  // The device and inode number of the memfd, which tell memfds apart.
  const dev_t device_;
  const ino_t inode_;
  const std::shared_ptr<PrivatePages> pages_;
  bool watched_ = false;  // whether Watch has been called
};

// The mappings of a loader's slots, by slot number. Not thread-safe. The map
// shares ownership of the mappings with leases. Never blocks. Errors: those of
// SlotMapping::Map.
class SlotMap {
 public:
  // Maps the slots of the epoch that starts. Reuses the mapping of a slot that
  // a lease still holds.
  Status Attach(const std::vector<proto::Fd>& fds, std::uint64_t slot_bytes);
  // Maps further slots, numbered after the present ones.
  Status Add(const std::vector<proto::Fd>& fds);
  // Drops all slots. Leased slots stay mapped until they are released.
  void Detach();

  std::uint32_t size() const {
    return static_cast<std::uint32_t>(slots_.size());
  }
  // Returns slot `index`, or null if there is none.
  std::shared_ptr<SlotMapping> Find(std::uint32_t index) const {
    return index < slots_.size() ? slots_[index] : nullptr;
  }

 private:
  std::uint64_t slot_bytes_ = 0;  // bytes of each slot
  std::vector<std::shared_ptr<SlotMapping>> slots_;
  std::vector<std::weak_ptr<SlotMapping>> last_;  // the last epoch's slots
  std::shared_ptr<PrivatePages> pages_;           // created with the first slot
};

}  // namespace forebay::client::shm

#endif  // FOREBAY_CLIENT_SHM_SLOT_MAP_H_

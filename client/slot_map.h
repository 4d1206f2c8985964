#ifndef FOREBAY_CLIENT_SLOT_MAP_H_
#define FOREBAY_CLIENT_SLOT_MAP_H_

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "client/fd.h"
#include "client/private_pages.h"
#include "client/status.h"

namespace forebay::client {

// One slot, mapped privately: what the daemon writes is seen, what is written
// here is seen by this process alone, until Renew.
//
// Thread-safe as memory is; Lend and Renew are called by one thread at a time.
// Owns the mapping. Nothing blocks. Errors: Map's own.
class SlotMapping {
 public:
  // Fails if the memory behind `fd` is smaller than `bytes` (touching the rest
  // would kill the process) or cannot be mapped.
  static Status Map(int fd, std::uint64_t bytes,
                    std::shared_ptr<PrivatePages> pages,
                    std::shared_ptr<SlotMapping>* out);
  ~SlotMapping();
  SlotMapping(const SlotMapping&) = delete;
  SlotMapping& operator=(const SlotMapping&) = delete;

  std::uint8_t* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }
  // Whether `fd` is the memory that is mapped.
  bool IsOf(int fd) const;

  // Before the memory is handed to the user, who may write to it.
  void Lend();
  // After the user is done: shows what the daemon writes again, everywhere.
  void Renew() { pages_->Drop(data_, bytes_); }
  // Keeps all content as it is now, until Renew. Any thread.
  void Freeze() { MakePagesPrivate(data_, bytes_); }

 private:
  SlotMapping(std::uint8_t* data, std::uint64_t bytes,
              const struct stat& status, std::shared_ptr<PrivatePages> pages);

  std::uint8_t* const data_;
  const std::uint64_t bytes_;
  const dev_t device_;
  const ino_t inode_;
  const std::shared_ptr<PrivatePages> pages_;
  bool watched_ = false;
};

// The slots of a loader. Not thread-safe. A mapping lives as long as the map or
// a lease holds it.
class SlotMap {
 public:
  // Takes the slots of the epoch that starts. A slot that a lease has kept
  // mapped stays mapped where it is.
  Status Attach(const std::vector<Fd>& fds, std::uint64_t slot_bytes);
  // More slots, numbered after those that there are.
  Status Add(const std::vector<Fd>& fds);
  // Lets go of all slots; those leased stay mapped until released.
  void Detach();

  std::uint32_t size() const {
    return static_cast<std::uint32_t>(slots_.size());
  }
  // Slot `index`; null if there is none.
  std::shared_ptr<SlotMapping> Find(std::uint32_t index) const {
    return index < slots_.size() ? slots_[index] : nullptr;
  }

 private:
  std::uint64_t slot_bytes_ = 0;
  std::vector<std::shared_ptr<SlotMapping>> slots_;
  std::vector<std::weak_ptr<SlotMapping>> past_;  // of the epoch before
  std::shared_ptr<PrivatePages> pages_;           // made with the first slot
};

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_SLOT_MAP_H_

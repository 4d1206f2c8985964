#include "client/shm/slot_map.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <utility>

#include "proto/shm_layout.h"
#include "proto/shm_mapping.h"

namespace forebay::client::shm {

SlotMapping::SlotMapping(std::uint8_t* data, std::uint64_t bytes,
                         const struct stat& status,
                         std::shared_ptr<PrivatePages> pages)
    : data_(data),
      bytes_(bytes),
      device_(status.st_dev),
      inode_(status.st_ino),
      pages_(std::move(pages)) {}

Status SlotMapping::Map(int fd, std::uint64_t bytes,
                        std::shared_ptr<PrivatePages> pages,
                        std::shared_ptr<SlotMapping>* out) {
  struct stat status;
  if (fstat(fd, &status) != 0)
    return ErrnoStatus(errno, "cannot look at a slot");
  if (bytes < proto::kSlotHeaderBytes || status.st_size < 0 ||
      static_cast<std::uint64_t>(status.st_size) < bytes)
    return Status(FOREBAY_INTERNAL, "the daemon sent a slot that is too small");
  void* const data =
      proto::MapShared(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
  if (data == MAP_FAILED) return ErrnoStatus(errno, "cannot map a slot");
  out->reset(new SlotMapping(static_cast<std::uint8_t*>(data), bytes, status,
                             std::move(pages)));
  return Status();
}

SlotMapping::~SlotMapping() { munmap(data_, bytes_); }

bool SlotMapping::IsOf(int fd) const {
  struct stat status;
  return fstat(fd, &status) == 0 && status.st_dev == device_ &&
         status.st_ino == inode_;
}

void SlotMapping::Watch() {
  if (watched_) return;
  watched_ = true;
  pages_->Watch(data_, bytes_);
}

Status SlotMap::Attach(const std::vector<proto::Fd>& fds,
                       std::uint64_t slot_bytes) {
  Detach();
  if (pages_ == nullptr) pages_ = PrivatePages::Create();
  slot_bytes_ = slot_bytes;
  return Add(fds);
}

Status SlotMap::Add(const std::vector<proto::Fd>& fds) {
  for (const proto::Fd& fd : fds) {
    const size_t index = slots_.size();
    std::shared_ptr<SlotMapping> slot;
    // A lease of the last epoch may still hold the slot. Two mappings of one
    // slot would each have their own private pages. The slot's mapping is
    // therefore reused if the memfd is the same.
    if (index < last_.size()) slot = last_[index].lock();
    if (slot == nullptr || slot->bytes() != slot_bytes_ ||
        !slot->IsOf(fd.get())) {
      FOREBAY_CLIENT_RETURN_IF_ERROR(
          SlotMapping::Map(fd.get(), slot_bytes_, pages_, &slot));
    }
    slots_.push_back(std::move(slot));
  }
  return Status();
}

void SlotMap::Detach() {
  if (slots_.empty()) return;
  last_.assign(slots_.begin(), slots_.end());
  slots_.clear();
}

}  // namespace forebay::client::shm

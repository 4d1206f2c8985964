#ifndef FOREBAY_SERVER_CACHE_DISK_STORE_ENTRY_H_
#define FOREBAY_SERVER_CACHE_DISK_STORE_ENTRY_H_

#include <cstdint>
#include <memory>
#include <string>

#include "server/base/bytes.h"
#include "server/cache/disk/record.h"
#include "server/storage/buffer_pool.h"
#include "server/storage/byte_source.h"

namespace forebay::cache::disk {

// Bytes to store, with their identity.
struct StoreEntry {
  // Returns the memory that the entry takes while it waits, in bytes.
  std::uint64_t memory() const {
    // The bytes of the entry itself and of its place in the queue, and those
    // that the allocator adds.
    constexpr std::uint64_t kBesides = 256;
    return storage::HeldBytes(bytes.size()) + object.size() + kBesides;
  }
  Key key() const { return {*root, object, version, offset, bytes.size()}; }

  std::shared_ptr<const std::string> root;  // its lasting identity
  std::string object;
  storage::ObjectVersion version;
  std::uint64_t offset = 0;
  base::Bytes bytes;
  storage::SampleRef sample;
  std::int64_t hint_nanos = INT64_MAX;  // ReadPurpose::next_use_nanos
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_STORE_ENTRY_H_

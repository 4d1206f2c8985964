#ifndef FOREBAY_SERVER_CACHE_VARIANT_STORE_H_
#define FOREBAY_SERVER_CACHE_VARIANT_STORE_H_

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "server/storage/byte_source.h"

namespace forebay::cache {

// Room for another variant of what was read, among what is kept. Of its maker
// alone until it is kept; dropping it gives the room back. Outlived by nothing
// of its keeper's.
class VariantBuffer {
 public:
  virtual ~VariantBuffer() = default;
  // To be filled; as long as was asked for.
  virtual absl::Span<std::uint8_t> span() = 0;
};

// Keeps other variants of what was read, for readers that take them
// (storage::ReadRequest::variant), where they save more than what they would
// displace.
//
// Thread-safe; never blocks; calls NextUse without any lock.
// No errors: what is not kept is made anew.
class VariantStore {
 public:
  // One that could be made.
  struct Offer {
    // What was read: its root, extent and sample.
    const storage::ReadRequest* read = nullptr;
    storage::Revision revision;                    // of the object, when it was
    storage::Variant variant = storage::kEncoded;  // not this one
    std::uint64_t bytes = 0;
    // CPU time that each reader saves that gets it instead of what was read,
    // as measured; positive.
    std::int64_t saves_nanos = 0;
    // And that its maker spends beyond what its own use of it takes.
    std::int64_t costs_nanos = 0;
    // Whether it is known that others want it: then it pays, whatever became of
    // those before.
    bool is_awaited = false;
  };

  virtual ~VariantStore() = default;

  // Null: it is there already, or not worth its room.
  virtual std::unique_ptr<VariantBuffer> RoomFor(const Offer& offer) = 0;
  // Bytes of memory for the variants that are kept, at most.
  virtual std::uint64_t variant_capacity() const = 0;
  // From now on it is given out. `room` is one of its own, and filled.
  virtual void Keep(std::unique_ptr<VariantBuffer> room) = 0;
  // That variant of what was read is wanted no more: it goes, if it is there.
  virtual void Drop(const storage::ReadRequest& read,
                    storage::Variant variant) = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_VARIANT_STORE_H_

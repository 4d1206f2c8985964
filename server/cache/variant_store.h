#ifndef FOREBAY_SERVER_CACHE_VARIANT_STORE_H_
#define FOREBAY_SERVER_CACHE_VARIANT_STORE_H_

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "server/storage/byte_source.h"

namespace forebay::cache {

// Memory for a variant that its maker fills. Its maker owns it until it passes
// it to Insert; its destruction frees the memory. The store outlives it.
class VariantBuffer {
 public:
  virtual ~VariantBuffer() = default;
  // Has the length of the offer.
  virtual absl::Span<std::uint8_t> span() = 0;
};

// Caches variants of what was read, for readers that accept them
// (storage::ReadRequest::variant), if they save more than what they would
// displace.
//
// Thread-safe. Never blocks; calls NextUse without any lock. No errors: a
// variant that is not cached is made again.
class VariantStore {
 public:
  // A variant that could be made.
  struct Offer {
    // The request that was read: its root, extent and sample.
    const storage::ReadRequest* read = nullptr;
    storage::Revision revision;  // of the object when it was read
    storage::Variant variant = storage::kEncoded;  // never kEncoded
    std::uint64_t bytes = 0;
    // The measured CPU time that each reader of the variant saves, compared
    // with a reader of the original bytes; positive.
    std::int64_t saves_nanos = 0;
    // The CPU time that its maker spends beyond its own use of it.
    std::int64_t costs_nanos = 0;
    // Whether other readers are known to want it. If so, the use of earlier
    // variants does not count.
    bool is_awaited = false;
  };

  virtual ~VariantStore() = default;

  // Returns null if the variant is cached already, or not worth its memory.
  virtual std::unique_ptr<VariantBuffer> Reserve(const Offer& offer) = 0;
  // Returns the most memory that variants may take, in bytes.
  virtual std::uint64_t variant_capacity() const = 0;
  // Caches a buffer of this store that its maker has filled.
  virtual void Insert(std::unique_ptr<VariantBuffer> buffer) = 0;
  // Removes that variant of what was read, if it is cached: no reader wants it
  // any more.
  virtual void Drop(const storage::ReadRequest& read,
                    storage::Variant variant) = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_VARIANT_STORE_H_

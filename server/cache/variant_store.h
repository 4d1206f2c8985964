#ifndef FOREBAY_SERVER_CACHE_VARIANT_STORE_H_
#define FOREBAY_SERVER_CACHE_VARIANT_STORE_H_

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "server/storage/byte_source.h"

namespace forebay::cache {

// Memory for a variant, which the maker of the variant fills.
//
// Not thread-safe. The maker owns the buffer until it passes it to Insert;
// destruction frees the memory. The store outlives it. Never blocks. Has no
// errors.
class VariantBuffer {
 public:
  virtual ~VariantBuffer() = default;
  // Returns the memory to fill, which has Offer::bytes bytes.
  virtual absl::Span<std::uint8_t> span() = 0;
};

// Caches variants of what was read, for readers that accept them
// (storage::ReadRequest::variant). A variant is cached if it saves more than
// the entries that it would displace.
//
// Thread-safe. The daemon owns it, as part of the cache. Never blocks: NextUse
// is called without any lock. Has no errors: a variant that is not cached is
// made again.
class VariantStore {
 public:
  // A variant that a reader offers to make.
  struct Offer {
    // The request that was read: its root, extent and sample.
    const storage::ReadRequest* read = nullptr;
    storage::Revision revision;  // of the object when it was read
    storage::Variant variant = storage::kEncoded;  // never kEncoded
    std::uint64_t bytes = 0;                       // of the variant
    // The measured CPU time that each reader of the variant saves, compared
    // with a reader of the original bytes; positive.
    std::int64_t saves_nanos = 0;
    // The CPU time that the maker spends beyond what its own use takes, such as
    // decoding the whole image instead of a crop.
    std::int64_t costs_nanos = 0;
    // Whether other readers are known to want the variant. If so, it is made
    // even if earlier variants were rarely used.
    bool is_awaited = false;
  };

  virtual ~VariantStore() = default;

  // Returns memory for the offered variant; null if the variant is cached
  // already, or not worth its memory or the time to make it.
  virtual std::unique_ptr<VariantBuffer> Reserve(const Offer& offer) = 0;
  // Returns the most memory that variants may take, in bytes.
  virtual std::uint64_t variant_capacity() const = 0;
  // Caches a buffer of this store that its maker has filled.
  virtual void Insert(std::unique_ptr<VariantBuffer> buffer) = 0;
  // Removes the variant of the bytes that `read` read, if it is cached. Callers
  // use it when no reader wants the variant any more.
  virtual void Drop(const storage::ReadRequest& read,
                    storage::Variant variant) = 0;
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_VARIANT_STORE_H_

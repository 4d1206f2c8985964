#ifndef FOREBAY_SERVER_STORAGE_MEMORY_MEMORY_ROOT_H_
#define FOREBAY_SERVER_STORAGE_MEMORY_MEMORY_ROOT_H_

#include <memory>
#include <string>
#include <utility>

#include "server/base/sealed_memory.h"
#include "server/storage/byte_source.h"

namespace forebay::storage::memory {

// Memory that a client filled and sealed. All names below this root stand for
// the same object: the whole memory. A dataset whose samples have no bytes has
// no memory.
//
// Thread-safe and immutable, as Root says. Shares the memory. Calls do not
// block, and have no errors.
class MemoryRoot final : public Root {
 public:
  // Makes a root. `identity` is made of `digest`, a digest of the content.
  MemoryRoot(std::string uri, const std::string& digest,
             std::shared_ptr<const base::SealedMemory> memory)
      : uri_(std::move(uri)),
        identity_(std::make_shared<const std::string>("memory:" + digest)),
        memory_(std::move(memory)) {}

  const std::string& uri() const override { return uri_; }
  // Returns an identity that is made of the content's digest, so that loaders
  // which send equal content share it.
  std::shared_ptr<const std::string> identity() const override {
    return identity_;
  }

  // Returns the memory. Null if there is none: reads then return no bytes.
  const std::shared_ptr<const base::SealedMemory>& memory() const {
    return memory_;
  }

 private:
  const std::string uri_;
  const std::shared_ptr<const std::string> identity_;
  const std::shared_ptr<const base::SealedMemory> memory_;
};

}  // namespace forebay::storage::memory

#endif  // FOREBAY_SERVER_STORAGE_MEMORY_MEMORY_ROOT_H_

#ifndef FOREBAY_TESTS_CONFORMANCE_STORAGE_MEMORY_SOURCE_H_
#define FOREBAY_TESTS_CONFORMANCE_STORAGE_MEMORY_SOURCE_H_

#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/storage/byte_source.h"

namespace forebay::storage {

// Objects in memory and their root, for tests: the simplest ByteSource that
// fulfils the contract. Thread-safe. Every read is done before Read() returns.
class MemorySource final : public ByteSource {
 public:
  MemorySource();

  // Creates or replaces an object.
  ObjectVersion Put(const std::string& object, std::string content);
  // Replaces an object's content by content of the same length, with the same
  // modification time. Only the revisions of the two differ.
  void Rewrite(const std::string& object, std::string content,
               const Revision& revision);
  void Remove(const std::string& object);
  const std::shared_ptr<const Root>& root() const { return root_; }

  void Read(absl::Span<ReadRequest> requests) override;

 private:
  struct Object {
    ObjectVersion version;  // with its revision
    std::shared_ptr<const std::string> content;
  };

  absl::StatusOr<ReadResult> ReadObject(const ReadRequest& request) const;

  const std::shared_ptr<const Root> root_;
  mutable base::Mutex mutex_;
  std::int64_t next_stamp_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<std::string, Object> objects_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage

#endif  // FOREBAY_TESTS_CONFORMANCE_STORAGE_MEMORY_SOURCE_H_

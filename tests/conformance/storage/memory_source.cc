#include "tests/conformance/storage/memory_source.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"

namespace forebay::storage {
namespace {

class MemoryRoot final : public Root {
 public:
  const std::string& uri() const override { return uri_; }
  std::shared_ptr<const std::string> identity() const override {
    return identity_;
  }
  // In this source, a lasting identity holds only while the test runs.
  std::shared_ptr<const std::string> lasting_identity() const override {
    return identity_;
  }

 private:
  const std::string uri_ = "memory:";
  const std::shared_ptr<const std::string> identity_ =
      std::make_shared<const std::string>(absl::StrCat("memory ", ++roots));
  static inline std::atomic<int> roots = 0;  // gives each root its own number
};

}  // namespace

MemorySource::MemorySource() : root_(std::make_shared<MemoryRoot>()) {}

ObjectVersion MemorySource::Put(const std::string& object,
                                std::string content) {
  base::MutexLock lock(&mutex_);
  const ObjectVersion version = {content.size(), next_stamp_++};
  objects_[object] = {version,
                      std::make_shared<const std::string>(std::move(content))};
  return version;
}

void MemorySource::Rewrite(const std::string& object, std::string content,
                           const Revision& revision) {
  base::MutexLock lock(&mutex_);
  Object& found = objects_[object];
  found.version.revision = revision;
  found.content = std::make_shared<const std::string>(std::move(content));
}

void MemorySource::Remove(const std::string& object) {
  base::MutexLock lock(&mutex_);
  objects_.erase(object);
}

void MemorySource::Read(absl::Span<ReadRequest> requests) {
  for (ReadRequest& request : requests) {
    const ReadRequest taken = std::move(request);
    taken.done(ReadObject(taken));
  }
}

absl::StatusOr<ReadResult> MemorySource::ReadObject(
    const ReadRequest& request) const {
  if (request.root != root_)
    return absl::InvalidArgumentError(
        absl::StrCat(request.object, ": lies not in memory"));
  if (request.length > request.version.size ||
      request.offset > request.version.size - request.length)
    return absl::InvalidArgumentError(
        absl::StrCat(request.object, ": the range lies outside"));
  base::MutexLock lock(&mutex_);
  const auto found = objects_.find(request.object);
  if (found == objects_.end())
    return absl::NotFoundError(absl::StrCat(request.object, ": is gone"));
  const Object& object = found->second;
  if (object.version.size != request.version.size ||
      object.version.stamp != request.version.stamp)
    return absl::FailedPreconditionError(
        absl::StrCat(request.object, ": was replaced"));
  const Revision& now = object.version.revision;
  const Revision& wanted = request.version.revision;
  if (wanted.inode != 0 && wanted.inode != now.inode)
    return absl::FailedPreconditionError(
        absl::StrCat(request.object, ": is another file"));
  if (wanted.ctime_nanos != 0 && wanted.ctime_nanos != now.ctime_nanos)
    return absl::AbortedError(absl::StrCat(request.object, ": was touched"));
  if (request.unless == now) return ReadResult{.bytes = {}, .revision = now};
  const auto* data =
      reinterpret_cast<const std::uint8_t*>(object.content->data());
  return ReadResult{.bytes = base::Bytes(object.content, {data + request.offset,
                                                          request.length}),
                    .revision = now};
}

}  // namespace forebay::storage

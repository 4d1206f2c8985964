#ifndef FOREBAY_TESTS_UNIT_SERVER_STORAGE_NOTING_SOURCE_H_
#define FOREBAY_TESTS_UNIT_SERVER_STORAGE_NOTING_SOURCE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/storage/byte_source.h"

namespace forebay::storage {

// A source that forwards all calls to `inner`, and records them. Thread-safe.
class NotingSource final : public ByteSource {
 public:
  struct Noted {
    std::string object;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    ReadPurpose purpose;
    std::uint64_t ticket = 0;
  };

  explicit NotingSource(ByteSource* inner) : inner_(inner) {}

  // Sets a function that is called before each read is forwarded.
  void set_on_read(std::function<void()> on_read) {
    on_read_ = std::move(on_read);
  }

  void Read(absl::Span<ReadRequest> requests) override {
    if (on_read_) on_read_();
    {
      base::MutexLock lock(&mutex_);
      for (const ReadRequest& request : requests) {
        noted_.push_back({request.object, request.offset, request.length,
                          request.purpose, request.ticket});
      }
    }
    inner_->Read(requests);
  }
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override {
    base::MutexLock lock(&mutex_);
    shared_.push_back(ticket);
    sharers_.push_back(purpose.job);
  }

  std::vector<Noted> noted() const {
    base::MutexLock lock(&mutex_);
    return noted_;
  }
  // Returns "object offset+length" of each read.
  std::vector<std::string> log() const {
    std::vector<std::string> log;
    for (const Noted& noted : noted()) {
      log.push_back(noted.object + " " + std::to_string(noted.offset) + "+" +
                    std::to_string(noted.length));
    }
    return log;
  }
  std::vector<std::uint64_t> shared() const {
    base::MutexLock lock(&mutex_);
    return shared_;
  }
  // Returns the job of each share.
  std::vector<std::uint64_t> sharers() const {
    base::MutexLock lock(&mutex_);
    return sharers_;
  }

 private:
  ByteSource* const inner_;
  std::function<void()> on_read_;
  mutable base::Mutex mutex_;
  std::vector<Noted> noted_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::uint64_t> shared_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::uint64_t> sharers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage

#endif  // FOREBAY_TESTS_UNIT_SERVER_STORAGE_NOTING_SOURCE_H_

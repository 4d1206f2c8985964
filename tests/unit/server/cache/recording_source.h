#ifndef FOREBAY_TESTS_UNIT_SERVER_CACHE_RECORDING_SOURCE_H_
#define FOREBAY_TESTS_UNIT_SERVER_CACHE_RECORDING_SOURCE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/storage/byte_source.h"

namespace forebay::cache {

// A source that forwards all calls to `inner`, which outlives it, and records
// them. Thread-safe.
class RecordingSource final : public storage::ByteSource {
 public:
  struct Noted {
    std::string object;
    std::uint64_t ticket = 0;
    storage::ReadPurpose purpose;
  };

  explicit RecordingSource(storage::ByteSource* inner) : inner_(inner) {}

  void Read(absl::Span<storage::ReadRequest> requests) override {
    {
      base::MutexLock lock(&mutex_);
      for (const storage::ReadRequest& request : requests) {
        reads_.push_back({request.object, request.ticket, request.purpose});
        ++times_[request.object];
      }
    }
    inner_->Read(requests);
  }
  void Share(std::uint64_t ticket,
             const storage::ReadPurpose& purpose) override {
    base::MutexLock lock(&mutex_);
    shares_.emplace_back(ticket, purpose);
  }

  std::vector<Noted> reads() const {
    base::MutexLock lock(&mutex_);
    return reads_;
  }
  int times(const std::string& object) const {
    base::MutexLock lock(&mutex_);
    const auto found = times_.find(object);
    return found == times_.end() ? 0 : found->second;
  }
  std::vector<std::pair<std::uint64_t, storage::ReadPurpose>> shares() const {
    base::MutexLock lock(&mutex_);
    return shares_;
  }

 private:
  storage::ByteSource* const inner_;
  mutable base::Mutex mutex_;
  std::vector<Noted> reads_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> times_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::pair<std::uint64_t, storage::ReadPurpose>> shares_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::cache

#endif  // FOREBAY_TESTS_UNIT_SERVER_CACHE_RECORDING_SOURCE_H_

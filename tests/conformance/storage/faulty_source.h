#ifndef FOREBAY_TESTS_CONFORMANCE_STORAGE_FAULTY_SOURCE_H_
#define FOREBAY_TESTS_CONFORMANCE_STORAGE_FAULTY_SOURCE_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/storage/byte_source.h"

namespace forebay::storage {

// A source whose faults and delays a test scripts. Without a script it forwards
// all reads to `inner`, which must outlive it. Thread-safe. The destructor ends
// the reads that the source holds back with CANCELLED.
class FaultySource final : public ByteSource {
 public:
  explicit FaultySource(ByteSource* inner) : inner_(inner) {}
  ~FaultySource() override;

  // Makes the next `times` reads of `object` fail with `status`; "" means any
  // object.
  void Fail(const std::string& object, absl::Status status,
            std::size_t times = 1);

  // Holds all reads back from now on, until Release() lets all of them through.
  void Hold();
  void Release();
  std::size_t held() const;

  void Read(absl::Span<ReadRequest> requests) override;

 private:
  struct Fault {
    absl::Status status;
    std::size_t times = 0;
  };

  absl::Status NextFault(const std::string& object)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ByteSource* const inner_;
  mutable base::Mutex mutex_;
  std::map<std::string, Fault> faults_ ABSL_GUARDED_BY(mutex_);
  bool holding_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<ReadRequest> held_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage

#endif  // FOREBAY_TESTS_CONFORMANCE_STORAGE_FAULTY_SOURCE_H_

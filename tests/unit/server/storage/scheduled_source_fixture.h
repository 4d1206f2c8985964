#ifndef FOREBAY_TESTS_UNIT_SERVER_STORAGE_SCHEDULED_SOURCE_FIXTURE_H_
#define FOREBAY_TESTS_UNIT_SERVER_STORAGE_SCHEDULED_SOURCE_FIXTURE_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/storage/scheduled_source.h"
#include "tests/conformance/storage/memory_source.h"

namespace forebay::storage {

// A source below, whose reads the test answers. Thread-safe.
class PatientSource final : public ByteSource {
 public:
  explicit PatientSource(ByteSource* inner) : inner_(inner) {}

  void Read(absl::Span<ReadRequest> requests) override {
    base::MutexLock lock(&mutex_);
    ++calls_;
    for (ReadRequest& request : requests) asked_.push_back(std::move(request));
  }

  std::size_t asked() const {
    base::MutexLock lock(&mutex_);
    return asked_.size();
  }
  int calls() const {
    base::MutexLock lock(&mutex_);
    return calls_;
  }
  // Answers the oldest request. Returns the request's job, or 0 if there is no
  // request.
  std::uint64_t Answer() {
    std::optional<ReadRequest> first;
    {
      base::MutexLock lock(&mutex_);
      if (asked_.empty()) return 0;
      first = std::move(asked_.front());
      asked_.pop_front();
    }
    const std::uint64_t job = first->purpose.job;
    inner_->Read({&*first, 1});
    return job;
  }
  void AnswerAll() {
    while (Answer() != 0) {
    }
  }

 private:
  ByteSource* const inner_;
  mutable base::Mutex mutex_;
  std::deque<ReadRequest> asked_ ABSL_GUARDED_BY(mutex_);
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
};

// A scheduled source over a PatientSource.
class ScheduledSourceTest {
 protected:
  static constexpr std::uint64_t kBytes = 1000;

  ScheduledSourceTest()
      : version_(memory_.Put("object", std::string(kBytes, 'x'))) {}

  void Make(const ScheduledSourceOptions& options) {
    source_.emplace(&below_, options);
  }

  ReadRequest Request(std::uint64_t job, std::uint64_t urgency = 0,
                      std::uint64_t ticket = 0) {
    ReadRequest request;
    request.root = memory_.root();
    request.object = "object";
    request.version = version_;
    request.length = kBytes;
    request.purpose = {.job = job, .urgency = urgency};
    request.ticket = ticket;
    request.done = [this](const absl::StatusOr<ReadResult>& result) {
      ++(result.ok() ? good_ : bad_);
    };
    return request;
  }
  void Read(std::uint64_t job, std::uint64_t urgency = 0,
            std::uint64_t ticket = 0) {
    ReadRequest request = Request(job, urgency, ticket);
    source_->Read({&request, 1});
  }

  base::FakeClock clock_;
  MemorySource memory_;
  const ObjectVersion version_;
  PatientSource below_{&memory_};
  std::atomic<int> good_ = 0;
  std::atomic<int> bad_ = 0;
  std::optional<ScheduledSource> source_;
};

}  // namespace forebay::storage

#endif  // FOREBAY_TESTS_UNIT_SERVER_STORAGE_SCHEDULED_SOURCE_FIXTURE_H_

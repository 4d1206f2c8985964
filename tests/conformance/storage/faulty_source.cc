#include "tests/conformance/storage/faulty_source.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace forebay::storage {

FaultySource::~FaultySource() {
  std::vector<ReadRequest> held;
  {
    base::MutexLock lock(&mutex_);
    held.swap(held_);
  }
  for (const ReadRequest& request : held)
    request.done(absl::CancelledError(
        absl::StrCat(request.object, ": the source is going away")));
}

void FaultySource::Fail(const std::string& object, absl::Status status,
                        std::size_t times) {
  base::MutexLock lock(&mutex_);
  faults_[object] = {std::move(status), times};
}

void FaultySource::Hold() {
  base::MutexLock lock(&mutex_);
  holding_ = true;
}

void FaultySource::Release() {
  std::vector<ReadRequest> held;
  {
    base::MutexLock lock(&mutex_);
    holding_ = false;
    held.swap(held_);
  }
  Read(absl::MakeSpan(held));
}

std::size_t FaultySource::held() const {
  base::MutexLock lock(&mutex_);
  return held_.size();
}

void FaultySource::Read(absl::Span<ReadRequest> requests) {
  std::vector<ReadRequest> passed;
  for (ReadRequest& request : requests) {
    absl::Status fault;
    {
      base::MutexLock lock(&mutex_);
      if (holding_) {
        held_.push_back(std::move(request));
        continue;
      }
      fault = NextFault(request.object);
    }
    if (fault.ok())
      passed.push_back(std::move(request));
    else
      std::exchange(request, {}).done(std::move(fault));
  }
  inner_->Read(absl::MakeSpan(passed));
}

absl::Status FaultySource::NextFault(const std::string& object) {
  for (const std::string& key : {object, std::string()})
    if (const auto found = faults_.find(key);
        found != faults_.end() && found->second.times > 0) {
      --found->second.times;
      return found->second.status;
    }
  return absl::OkStatus();
}

}  // namespace forebay::storage

#include "server/dataset/object_scan.h"

#include <deque>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "server/base/bytes.h"
#include "server/base/mutex.h"
#include "server/base/status.h"

// Several objects are parsed in parallel, each with one read in flight. The
// bytes read are queued, and only the caller's thread parses them. A read's
// `done` cannot parse them: it must not block, and may be called before Read
// returns.
//
// The scan ends with the first error. Reads that are still in flight keep the
// queue alive; what they add to it is ignored.

namespace forebay::dataset {
namespace {

// A completed read.
struct Arrival {
  std::size_t object = 0;
  std::uint64_t length = 0;  // bytes that were asked for
  absl::Status status;
  base::Bytes bytes;  // the bytes read; empty if `status` is an error
};

// The queue of completed reads. Thread-safe. Reads in flight, which may outlive
// the scan, share it. Only Next blocks.
class Arrivals {
 public:
  void Add(Arrival arrival) {
    base::MutexLock lock(&mutex_);
    queue_.push_back(std::move(arrival));
    changed_.NotifyOne();
  }

  void Stop() {
    base::MutexLock lock(&mutex_);
    stopped_ = true;
    changed_.NotifyOne();
  }

  // Blocks until a read has completed. Returns false once the queue is stopped.
  bool Next(Arrival* arrival) {
    base::MutexLock lock(&mutex_);
    while (queue_.empty() && !stopped_) changed_.Wait(&mutex_);
    if (stopped_) return false;
    *arrival = std::move(queue_.front());
    queue_.pop_front();
    return true;
  }

 private:
  base::Mutex mutex_;
  base::CondVar changed_;
  std::deque<Arrival> queue_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::Status Stopped() {
  return absl::CancelledError("was not scanned to the end");
}

// Runs a scan on the caller's thread. Parses up to objects_at_once objects at
// once, and handles completed reads one by one.
class Scan {
 public:
  Scan(const ObjectScan& scan, base::WorkingMemory& memory)
      : scan_(scan), memory_(memory) {}

  absl::Status Run() {
    const std::stop_callback stop(scan_.stop,
                                  [arrivals = arrivals_] { arrivals->Stop(); });
    FOREBAY_RETURN_IF_ERROR(BeginMore());
    while (!parsers_.empty()) {
      Arrival arrival;
      if (!arrivals_->Next(&arrival)) return Stopped();
      FOREBAY_RETURN_IF_ERROR(Take(arrival));
      FOREBAY_RETURN_IF_ERROR(Proceed(arrival.object));
      FOREBAY_RETURN_IF_ERROR(BeginMore());
    }
    return absl::OkStatus();
  }

 private:
  // Begins objects until objects_at_once of them are being parsed.
  absl::Status BeginMore() {
    while (begun_ < scan_.objects.size() &&
           parsers_.size() < scan_.objects_at_once) {
      if (scan_.stop.stop_requested()) return Stopped();
      const std::size_t object = begun_++;
      FOREBAY_ASSIGN_OR_RETURN(parsers_[object], scan_.begin(object));
      FOREBAY_RETURN_IF_ERROR(Proceed(object));
    }
    return absl::OkStatus();
  }

  // Starts the object's next read. If its parser needs no more, ends the
  // object.
  absl::Status Proceed(std::size_t object) {
    const auto range = parsers_[object]->next_read();
    if (range.has_value()) return Read(object, *range);
    parsers_.erase(object);
    return scan_.end(object);
  }

  absl::Status Read(std::size_t object, const ByteRange& range) {
    FOREBAY_RETURN_IF_ERROR(memory_.Grow(BytesFor(range.length)));
    storage::ReadRequest request;
    request.root = scan_.root;
    request.object = scan_.objects[object].name;
    request.version = scan_.objects[object].version;
    request.offset = range.offset;
    request.length = range.length;
    request.uncached = scan_.uncached;
    request.done = [arrivals = arrivals_, object, length = range.length](
                       absl::StatusOr<storage::ReadResult> result) {
      if (result.ok()) {
        arrivals->Add(
            {object, length, absl::OkStatus(), std::move(result->bytes)});
      } else {
        arrivals->Add({object, length, result.status(), {}});
      }
    };
    scan_.source->Read(absl::MakeSpan(&request, 1));
    return absl::OkStatus();
  }

  // Passes the bytes of a read to its object's parser, and frees them.
  absl::Status Take(Arrival& arrival) {
    FOREBAY_RETURN_IF_ERROR(arrival.status);
    if (arrival.bytes.size() != arrival.length) {
      return absl::DataLossError(absl::StrCat(
          scan_.objects[arrival.object].name, ": a read gave ",
          arrival.bytes.size(), " bytes instead of ", arrival.length));
    }
    FOREBAY_RETURN_IF_ERROR(
        parsers_[arrival.object]->Take(arrival.bytes.span()));
    arrival.bytes = {};
    memory_.Shrink(BytesFor(arrival.length));
    return absl::OkStatus();
  }

  // Returns the memory, in bytes, that is counted for a read of `length` bytes.
  std::uint64_t BytesFor(std::uint64_t length) const {
    return storage::HeldBytes(length) + (scan_.temporary_bytes == nullptr
                                             ? 0
                                             : scan_.temporary_bytes(length));
  }

  const ObjectScan& scan_;
  base::WorkingMemory& memory_;
  const std::shared_ptr<Arrivals> arrivals_ = std::make_shared<Arrivals>();
  std::size_t begun_ = 0;  // number of objects begun so far
  // The parsers of the objects that are begun and not done, by index of the
  // object.
  std::map<std::size_t, ObjectParser*> parsers_;
};

}  // namespace

absl::Status ScanObjects(const ObjectScan& scan, base::WorkingMemory& memory) {
  return Scan(scan, memory).Run();
}

}  // namespace forebay::dataset

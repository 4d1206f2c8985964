#include "server/dataset/shards/shard_scan.h"

#include <deque>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "server/base/bytes.h"
#include "server/base/mutex.h"
#include "server/base/status.h"

// Several shards are parsed side by side, each with one read in flight. Bytes
// that arrive are queued, and the caller's thread alone takes them: a read's
// `done` must not block, and may be called from within Read.

namespace forebay::dataset::shards {
namespace {

struct Arrival {
  std::size_t shard = 0;
  std::uint64_t length = 0;  // asked for; bytes
  absl::Status status;
  base::Bytes bytes;  // if that is OK
};

// Thread-safe. Shared with the reads in flight, which may outlive a scan.
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

  // Blocks until there is an arrival. Returns false if it was stopped.
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

class Scan {
 public:
  Scan(storage::ByteSource& source,
       const std::shared_ptr<const storage::Root>& root,
       const std::vector<Shard>& shards, const FieldChoice& fields,
       const ShardScanOptions& options, base::WorkingMemory& memory)
      : source_(source),
        root_(root),
        shards_(shards),
        fields_(fields),
        options_(options),
        memory_(memory) {}

  absl::StatusOr<std::shared_ptr<const ShardIndex>> Run() {
    const std::stop_callback stop(options_.stop,
                                  [arrivals = arrivals_] { arrivals->Stop(); });
    FOREBAY_RETURN_IF_ERROR(memory_.MakeRoom(samples_, shards_.size()));
    samples_.resize(shards_.size());
    while (begun_ < shards_.size() && begun_ < options_.shards_at_once) {
      FOREBAY_RETURN_IF_ERROR(Begin(begun_++));
    }
    for (std::size_t done = 0; done < shards_.size();) {
      Arrival arrival;
      if (!arrivals_->Next(&arrival)) {
        return absl::CancelledError("was not scanned to the end");
      }
      const auto parser = parsers_.find(arrival.shard);
      FOREBAY_RETURN_IF_ERROR(Take(arrival, parser->second));
      if (parser->second.next_read().has_value()) {
        FOREBAY_RETURN_IF_ERROR(Read(arrival.shard, parser->second));
        continue;
      }
      samples_[arrival.shard] = parser->second.TakeSamples();
      parsers_.erase(parser);
      ++done;
      if (begun_ < shards_.size()) FOREBAY_RETURN_IF_ERROR(Begin(begun_++));
    }
    return BuildShardIndex(fields_, shards_, std::move(samples_), memory_);
  }

 private:
  absl::Status Begin(std::size_t shard) {
    FOREBAY_ASSIGN_OR_RETURN(
        ShardParser parser, ShardParser::Create(shards_[shard], &fields_,
                                                options_.read_sizes, &memory_));
    return Read(shard,
                parsers_.emplace(shard, std::move(parser)).first->second);
  }

  absl::Status Read(std::size_t shard, const ShardParser& parser) {
    const TarWalk::Range range = *parser.next_read();
    FOREBAY_RETURN_IF_ERROR(memory_.Grow(BytesFor(range.length)));
    storage::ReadRequest request;
    request.root = root_;
    request.object = shards_[shard].path;
    request.version = shards_[shard].version;
    request.offset = range.offset;
    request.length = range.length;
    request.purpose = options_.purpose;
    request.done = [arrivals = arrivals_, shard, length = range.length](
                       absl::StatusOr<storage::ReadResult> result) {
      if (result.ok()) {
        arrivals->Add(
            {shard, length, absl::OkStatus(), std::move(result->bytes)});
      } else {
        arrivals->Add({shard, length, result.status(), {}});
      }
    };
    source_.Read(absl::MakeSpan(&request, 1));
    return absl::OkStatus();
  }

  absl::Status Take(Arrival& arrival, ShardParser& parser) {
    FOREBAY_RETURN_IF_ERROR(arrival.status);
    if (arrival.bytes.size() != arrival.length) {
      return absl::DataLossError(absl::StrCat(
          shards_[arrival.shard].path, ": a read gave ", arrival.bytes.size(),
          " bytes instead of ", arrival.length));
    }
    FOREBAY_RETURN_IF_ERROR(parser.Take(arrival.bytes.span()));
    arrival.bytes = {};
    memory_.Shrink(BytesFor(arrival.length));
    return absl::OkStatus();
  }

  // Bytes of a read, and of the members in it, which take a header each.
  static std::uint64_t BytesFor(std::uint64_t length) {
    return storage::HeldBytes(length) +
           length / kTarBlock * (sizeof(TarMember) + base::HeapBytes(0)) * 2;
  }

  storage::ByteSource& source_;
  const std::shared_ptr<const storage::Root>& root_;
  const std::vector<Shard>& shards_;
  const FieldChoice& fields_;
  const ShardScanOptions& options_;
  base::WorkingMemory& memory_;
  const std::shared_ptr<Arrivals> arrivals_ = std::make_shared<Arrivals>();
  std::size_t begun_ = 0;
  // Of the shards that are begun and not done.
  std::map<std::size_t, ShardParser> parsers_;
  std::vector<ShardSamples> samples_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const ShardIndex>> ScanShards(
    storage::ByteSource& source,
    const std::shared_ptr<const storage::Root>& root,
    const std::vector<Shard>& shards, const FieldChoice& fields,
    const ShardScanOptions& options, base::WorkingMemory& memory) {
  return Scan(source, root, shards, fields, options, memory).Run();
}

}  // namespace forebay::dataset::shards

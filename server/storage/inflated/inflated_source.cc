#include "server/storage/inflated/inflated_source.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/bytes.h"
#include "server/base/status.h"
#include "server/storage/inflated/file_points.h"
#include "server/storage/inflated/inflated_root.h"

// An inflation is a chain: a read, a task that inflates what it gave, the next
// read, until the range is full. Whatever runs next owns it. If that is
// dropped, the inflation ends with it and says so to its reader.

namespace forebay::storage::inflated {
namespace {

// Of a byte that is inflated, by guess.
constexpr std::int64_t kNanosOfByte = 3;
// A first read is so much longer than its part of the compressed bytes between
// two points: some of them are packed more tightly.
constexpr std::uint64_t kMoreBytes = std::uint64_t{16} << 10;

constexpr std::uint64_t EndByte(const AccessPoint& point) {
  return (point.bit + 7) / 8;
}

// Returns the last point that is not behind `offset`.
const AccessPoint& PointBefore(absl::Span<const AccessPoint> points,
                               std::uint64_t offset) {
  const auto after =
      std::upper_bound(points.begin(), points.end(), offset,
                       [](std::uint64_t wanted, const AccessPoint& point) {
                         return wanted < point.offset;
                       });
  return *(after - 1);
}

absl::Status Leaving(const std::string& object) {
  return absl::CancelledError(
      absl::StrCat(object, ": the daemon is shutting down"));
}

absl::Status CheckRange(const ReadRequest& request, const PackedFile& file) {
  if (request.version.size != file.size) {
    return absl::FailedPreconditionError(
        absl::StrCat(request.object, ": was indexed with ", file.size,
                     " bytes, not ", request.version.size));
  }
  if (request.offset > file.size || request.length > file.size - request.offset)
    return absl::InvalidArgumentError(
        absl::StrCat(request.object, ": ", request.length, " bytes from byte ",
                     request.offset, " on are outside of it"));
  return absl::OkStatus();
}

}  // namespace

class InflatedSource::Inflation
    : public std::enable_shared_from_this<Inflation> {
 public:
  Inflation(InflatedSource* source, ReadRequest request,
            const PackedFile* file);
  ~Inflation();

  // The next read below, which goes on from there.
  ReadRequest NextRead();
  void Join(const ReadPurpose& purpose);

 private:
  const InflatedRoot& root() const {
    return static_cast<const InflatedRoot&>(*request_.root);
  }
  void Take(absl::StatusOr<ReadResult> result);
  void SubmitTask();
  // Inflates what was read; goes on, or finishes.
  void Inflate();
  absl::Status Begin();
  void ReadOn();
  void Finish(absl::StatusOr<ReadResult> result);

  InflatedSource* const source_;
  ReadRequest request_;  // its `done` is null once it was called
  const PackedFile* const file_;
  const AccessPoint point_;
  std::uint64_t next_ = 0;        // byte of the file to be read
  std::uint64_t first_read_ = 0;  // bytes
  std::uint64_t end_ = 0;         // behind the last byte that can be needed
  std::uint64_t to_inflate_ = 0;  // bytes, by guess
  std::shared_ptr<std::uint8_t> buffer_;
  std::unique_ptr<InflateReader> reader_;
  ReadResult read_;  // that came last
  absl::Span<const std::uint8_t> unseen_;

  base::Mutex mutex_;
  std::vector<ReadPurpose> joined_ ABSL_GUARDED_BY(mutex_);
};

InflatedSource::Inflation::Inflation(InflatedSource* source,
                                     ReadRequest request,
                                     const PackedFile* file)
    : source_(source),
      request_(std::move(request)),
      file_(file),
      point_(PointBefore(root().points().PointsOf(*file), request_.offset)) {
  const auto points = root().points().PointsOf(*file);
  const std::uint64_t end = request_.offset + request_.length;
  const auto behind =
      std::lower_bound(points.begin(), points.end(), end,
                       [](const AccessPoint& point, std::uint64_t wanted) {
                         return point.offset < wanted;
                       });
  const bool is_last = behind == points.end();
  next_ = InflateReader::BeginOf(point_);
  end_ = std::max(next_, is_last ? file->packed_size : EndByte(*behind));
  to_inflate_ = end - point_.offset;
  const std::uint64_t between =
      std::max<std::uint64_t>(1, (is_last ? file->size : behind->offset) -
                                     std::min(file->size, point_.offset));
  const double part = static_cast<double>(to_inflate_) /
                      static_cast<double>(between) *
                      static_cast<double>(end_ - next_);
  first_read_ = static_cast<std::uint64_t>(part) + kMoreBytes;
}

InflatedSource::Inflation::~Inflation() {
  if (request_.done != nullptr) Finish(Leaving(request_.object));
  // Its memory goes before the source may.
  reader_.reset();
  base::MutexLock lock(&source_->mutex_);
  if (--source_->inflations_ == 0) source_->quiet_.NotifyAll();
}

ReadRequest InflatedSource::Inflation::NextRead() {
  ReadRequest read;
  read.root = root().root();
  read.object = request_.object;
  read.version = root().PackedVersion(request_.object, request_.version);
  read.layout = request_.layout;
  read.uncached = request_.uncached;
  if (reader_ == nullptr) read.unless = request_.unless;
  read.purpose = request_.purpose;
  read.sample = request_.sample;
  read.ticket = request_.ticket;
  read.offset = next_;
  const std::uint64_t most =
      reader_ == nullptr ? std::min(first_read_, kMostRead) : kMostRead;
  read.length = request_.length == 0 ? 0 : std::min(most, end_ - next_);
  next_ += read.length;
  read.done = [self = shared_from_this()](absl::StatusOr<ReadResult> result) {
    self->Take(std::move(result));
  };
  return read;
}

void InflatedSource::Inflation::Join(const ReadPurpose& purpose) {
  base::MutexLock lock(&mutex_);
  joined_.push_back(purpose);
}

void InflatedSource::Inflation::Take(absl::StatusOr<ReadResult> result) {
  if (!result.ok()) return Finish(result.status());
  read_ = *std::move(result);
  // Either the caller has the bytes, or wants none.
  const bool all = read_.bytes.size() == 0 &&
                   (request_.unless.has_value() || request_.length == 0);
  if (all) return Finish(std::exchange(read_, {}));
  unseen_ = read_.bytes.span();
  SubmitTask();
}

void InflatedSource::Inflation::SubmitTask() {
  ReadPurpose purpose = request_.purpose;
  {
    base::MutexLock lock(&mutex_);
    if (!joined_.empty()) {
      std::vector<std::uint64_t> payers(PayersOf(purpose).begin(),
                                        PayersOf(purpose).end());
      for (const ReadPurpose& other : joined_) {
        for (const std::uint64_t payer : PayersOf(other)) {
          if (std::find(payers.begin(), payers.end(), payer) == payers.end())
            payers.push_back(payer);
        }
        purpose.urgency = std::min(purpose.urgency, other.urgency);
      }
      purpose.payers =
          std::make_shared<const std::vector<std::uint64_t>>(std::move(payers));
    }
  }
  const std::uint64_t bytes = std::min(to_inflate_, InflateReader::kMostAtOnce);
  source_->run_(purpose, static_cast<std::int64_t>(bytes) * kNanosOfByte,
                [self = shared_from_this()] { self->Inflate(); });
}

void InflatedSource::Inflation::Inflate() {
  if (reader_ == nullptr) {
    const absl::Status begun = Begin();
    if (!begun.ok()) return Finish(base::Annotate(begun, request_.object));
  }
  const auto took = reader_->Take(unseen_);
  if (!took.ok()) {
    return Finish(base::Annotate(took.status(),
                                 absl::StrCat(request_.object, ": behind byte ",
                                              InflateReader::BeginOf(point_))));
  }
  unseen_.remove_prefix(*took);
  if (reader_->done()) {
    ReadResult result;
    result.origin = read_.origin;
    result.revision = read_.revision;
    result.bytes = base::Bytes(buffer_, {buffer_.get(), request_.length});
    return Finish(std::move(result));
  }
  if (!unseen_.empty() || reader_->pending()) return SubmitTask();
  ReadOn();
}

absl::Status InflatedSource::Inflation::Begin() {
  FOREBAY_ASSIGN_OR_RETURN(const std::string window,
                           root().points().WindowOf(point_));
  buffer_ = source_->buffers_->Take(request_.length);
  if (buffer_ == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there is no memory for ", request_.length, " bytes"));
  }
  FOREBAY_ASSIGN_OR_RETURN(
      reader_,
      InflateReader::Create(
          file_->packing, point_,
          {reinterpret_cast<const std::uint8_t*>(window.data()), window.size()},
          request_.offset, {buffer_.get(), request_.length}));
  return absl::OkStatus();
}

void InflatedSource::Inflation::ReadOn() {
  if (next_ >= end_) {
    return Finish(absl::DataLossError(
        absl::StrCat(request_.object,
                     ": its compressed data ends too early, at byte ", next_)));
  }
  read_ = {};
  ReadRequest read = NextRead();
  source_->ReadBelow({&read, 1});
  std::vector<ReadPurpose> joined;
  {
    base::MutexLock lock(&mutex_);
    joined = joined_;
  }
  if (joined.empty() || !source_->Enter()) return;
  for (const ReadPurpose& purpose : joined)
    source_->below_->Share(request_.ticket, purpose);
  source_->Leave();
}

void InflatedSource::Inflation::Finish(absl::StatusOr<ReadResult> result) {
  if (request_.ticket != 0) source_->Forget(request_.ticket);
  reader_.reset();
  buffer_.reset();
  read_ = {};
  const ReadDone done = std::exchange(request_.done, nullptr);
  done(std::move(result));
}

bool InflatedSource::Leads(const Root& root) {
  return dynamic_cast<const InflatedRoot*>(&root) != nullptr;
}

InflatedSource::InflatedSource(ByteSource* below, RunTask run,
                               std::size_t spare_bytes)
    : below_(below),
      run_(std::move(run)),
      buffers_(std::make_shared<BufferPool>(spare_bytes)) {}

InflatedSource::~InflatedSource() {
  base::MutexLock lock(&mutex_);
  while (inflations_ > 0) quiet_.Wait(&mutex_);
}

void InflatedSource::Read(absl::Span<ReadRequest> requests) {
  std::vector<ReadRequest> below;
  for (ReadRequest& request : requests) {
    const auto* const root =
        dynamic_cast<const InflatedRoot*>(request.root.get());
    if (root == nullptr) {
      const ReadDone done = std::exchange(request.done, nullptr);
      done(absl::InvalidArgumentError(absl::StrCat(
          request.object, ": ", request.root->uri(), " is not inflated")));
      continue;
    }
    const PackedFile* const file = root->points().Find(request.object);
    if (file == nullptr) {
      request.root = root->root();
      below.push_back(std::move(request));
      continue;
    }
    if (absl::Status status = CheckRange(request, *file); !status.ok()) {
      const ReadDone done = std::exchange(request.done, nullptr);
      done(std::move(status));
      continue;
    }
    const std::uint64_t ticket = request.ticket;
    {
      base::MutexLock lock(&mutex_);
      ++inflations_;
    }
    const auto inflation =
        std::make_shared<Inflation>(this, std::move(request), file);
    if (ticket != 0) {
      base::MutexLock lock(&mutex_);
      by_ticket_[ticket] = inflation;
    }
    below.push_back(inflation->NextRead());
  }
  if (!below.empty()) ReadBelow(absl::MakeSpan(below));
}

void InflatedSource::Share(std::uint64_t ticket, const ReadPurpose& purpose) {
  std::shared_ptr<Inflation> inflation;
  {
    base::MutexLock lock(&mutex_);
    const auto found = by_ticket_.find(ticket);
    if (found != by_ticket_.end()) inflation = found->second.lock();
  }
  if (inflation != nullptr) inflation->Join(purpose);
  if (!Enter()) return;
  below_->Share(ticket, purpose);
  Leave();
}

void InflatedSource::Stop() {
  base::MutexLock lock(&mutex_);
  stopped_ = true;
  while (asking_ > 0) quiet_.Wait(&mutex_);
}

bool InflatedSource::Enter() {
  base::MutexLock lock(&mutex_);
  if (stopped_) return false;
  ++asking_;
  return true;
}

void InflatedSource::Leave() {
  base::MutexLock lock(&mutex_);
  if (--asking_ == 0) quiet_.NotifyAll();
}

void InflatedSource::ReadBelow(absl::Span<ReadRequest> requests) {
  if (!Enter()) {
    for (ReadRequest& request : requests) {
      const ReadDone done = std::exchange(request.done, nullptr);
      done(Leaving(request.object));
    }
    return;
  }
  below_->Read(requests);
  Leave();
}

void InflatedSource::Forget(std::uint64_t ticket) {
  base::MutexLock lock(&mutex_);
  by_ticket_.erase(ticket);
}

}  // namespace forebay::storage::inflated

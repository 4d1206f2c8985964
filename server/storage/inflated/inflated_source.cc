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
#include "server/storage/inflated/packed_reader.h"
#include "server/storage/inflated/range_part.h"
#include "server/storage/payers.h"

// An inflation is a chain: a read, a task that inflates what it gave, the next
// read, until the range is full. Whatever runs next owns it. If that is
// dropped, the inflation ends with it and says so to its reader.

namespace forebay::storage::inflated {
namespace {

// Of a byte that is inflated, by guess.
constexpr std::int64_t kNanosOfByte = 3;
constexpr std::int64_t kZstdNanosOfByte = 1;

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
  bool is_zstd() const { return file_->packing == Packing::kZstd; }
  std::uint64_t end() const { return request_.offset + request_.length; }
  absl::Span<std::uint8_t> out() const {
    return {buffer_.get() + (part_.begin - request_.offset),
            part_.end - part_.begin};
  }

  void BeginPart(std::uint64_t offset);
  void Take(absl::StatusOr<ReadResult> result);
  void SubmitTask();
  // Inflates what was read; goes on, or finishes.
  void Inflate();
  absl::Status MakeReader();
  absl::Status CopyPiece();
  // Goes on behind the part.
  void EndPart();
  void ReadOn();
  void Finish(absl::StatusOr<ReadResult> result);

  InflatedSource* const source_;
  ReadRequest request_;  // its `done` is null once it was called
  const PackedFile* const file_;
  std::shared_ptr<std::uint8_t> buffer_;
  RangePart part_;          // that is being made
  std::uint64_t next_ = 0;  // byte of the file to be read
  std::unique_ptr<PackedReader> reader_;
  ReadResult read_;  // that came last
  absl::Span<const std::uint8_t> unseen_;

  base::Mutex mutex_;
  std::vector<ReadPurpose> joined_ ABSL_GUARDED_BY(mutex_);
};

InflatedSource::Inflation::Inflation(InflatedSource* source,
                                     ReadRequest request,
                                     const PackedFile* file)
    : source_(source), request_(std::move(request)), file_(file) {
  BeginPart(request_.offset);
}

void InflatedSource::Inflation::BeginPart(std::uint64_t offset) {
  part_ = FirstPart(root().points(), *file_, offset, end());
  next_ = part_.first_byte;
}

InflatedSource::Inflation::~Inflation() {
  if (request_.done != nullptr)
    Finish(StoppableSource::Stopped(request_.object));
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
  if (buffer_ == nullptr) read.unless = request_.unless;
  read.purpose = request_.purpose;
  read.sample = request_.sample;
  read.ticket = request_.ticket;
  read.offset = next_;
  std::uint64_t most =
      reader_ == nullptr ? std::min(part_.first_read, kMostRead) : kMostRead;
  most = std::min(most, part_.end_byte - next_);
  // Whether the file is the same is all that there is to know. If the caller
  // has the bytes, the first one tells whether it needs others.
  if (part_.piece_bytes > 0) most = read.unless.has_value() ? 1 : 0;
  read.length = request_.length == 0 ? 0 : most;
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
    for (const ReadPurpose& other : joined_) {
      AddPayers(other, &purpose);
      purpose.urgency = std::min(purpose.urgency, other.urgency);
    }
  }
  const std::uint64_t bytes =
      std::min(part_.end - part_.point.offset, PackedReader::kMostAtOnce);
  source_->run_(purpose,
                static_cast<std::int64_t>(bytes) *
                    (is_zstd() ? kZstdNanosOfByte : kNanosOfByte),
                [self = shared_from_this()] { self->Inflate(); });
}

void InflatedSource::Inflation::Inflate() {
  if (buffer_ == nullptr) {
    buffer_ = source_->buffers_->Take(request_.length);
    if (buffer_ == nullptr) {
      return Finish(absl::ResourceExhaustedError(
          absl::StrCat(request_.object, ": there is no memory for ",
                       request_.length, " bytes")));
    }
  }
  if (reader_ == nullptr) {
    const bool is_kept = part_.piece_bytes > 0;
    const absl::Status begun = is_kept ? CopyPiece() : MakeReader();
    if (!begun.ok()) return Finish(base::Annotate(begun, request_.object));
    if (is_kept) return EndPart();
  }
  const auto took = reader_->Take(unseen_);
  if (!took.ok()) {
    return Finish(base::Annotate(
        took.status(),
        absl::StrCat(request_.object, ": behind byte ", part_.first_byte)));
  }
  unseen_.remove_prefix(*took);
  if (reader_->done()) return EndPart();
  if (!unseen_.empty() || reader_->pending()) return SubmitTask();
  ReadOn();
}

absl::Status InflatedSource::Inflation::MakeReader() {
  if (is_zstd()) {
    reader_ =
        std::make_unique<ZstdReader>(source_->decoders_, source_->scratches_,
                                     part_.begin - part_.point.offset, out());
    return absl::OkStatus();
  }
  FOREBAY_ASSIGN_OR_RETURN(const std::string window,
                           root().points().WindowOf(part_.point));
  FOREBAY_ASSIGN_OR_RETURN(
      reader_,
      InflateReader::Create(
          file_->packing, part_.point,
          {reinterpret_cast<const std::uint8_t*>(window.data()), window.size()},
          part_.begin, out(), source_->scratches_));
  return absl::OkStatus();
}

absl::Status InflatedSource::Inflation::CopyPiece() {
  FOREBAY_ASSIGN_OR_RETURN(
      const std::string piece,
      root().points().PieceOf(part_.point, part_.piece_bytes));
  std::copy_n(piece.data() + (part_.begin - part_.point.offset), out().size(),
              out().data());
  return absl::OkStatus();
}

void InflatedSource::Inflation::EndPart() {
  reader_.reset();
  if (part_.end == end()) {
    ReadResult result;
    result.origin = read_.origin;
    result.revision = read_.revision;
    result.bytes = base::Bytes(buffer_, {buffer_.get(), request_.length});
    return Finish(std::move(result));
  }
  BeginPart(part_.end);
  // The file was the same when the part before was made.
  if (part_.piece_bytes > 0) return SubmitTask();
  ReadOn();
}

void InflatedSource::Inflation::ReadOn() {
  if (next_ >= part_.end_byte) {
    return Finish(absl::DataLossError(
        absl::StrCat(request_.object,
                     ": its compressed data ends too early, at byte ", next_)));
  }
  read_ = {};
  ReadRequest read = NextRead();
  source_->below_.Read({&read, 1});
  std::vector<ReadPurpose> joined;
  {
    base::MutexLock lock(&mutex_);
    joined = joined_;
  }
  for (const ReadPurpose& purpose : joined)
    source_->below_.Share(request_.ticket, purpose);
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

bool InflatedSource::IsOfZstd(const ReadRequest& request) {
  const auto* const root =
      dynamic_cast<const InflatedRoot*>(request.root.get());
  if (root == nullptr) return false;
  const PackedFile* const file = root->points().Find(request.object);
  return file != nullptr && file->packing == Packing::kZstd;
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
  if (!below.empty()) below_.Read(absl::MakeSpan(below));
}

void InflatedSource::Share(std::uint64_t ticket, const ReadPurpose& purpose) {
  std::shared_ptr<Inflation> inflation;
  {
    base::MutexLock lock(&mutex_);
    const auto found = by_ticket_.find(ticket);
    if (found != by_ticket_.end()) inflation = found->second.lock();
  }
  if (inflation != nullptr) inflation->Join(purpose);
  below_.Share(ticket, purpose);
}

void InflatedSource::Forget(std::uint64_t ticket) {
  base::MutexLock lock(&mutex_);
  by_ticket_.erase(ticket);
}

}  // namespace forebay::storage::inflated

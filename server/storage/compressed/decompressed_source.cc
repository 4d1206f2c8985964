#include "server/storage/compressed/decompressed_source.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/bytes.h"
#include "server/base/status.h"
#include "server/storage/compressed/compressed_reader.h"
#include "server/storage/compressed/decompressed_root.h"
#include "server/storage/compressed/file_points.h"
#include "server/storage/compressed/range_part.h"
#include "server/storage/payers.h"

// A decompression is a chain: a read of the source below, then a task that
// decompresses what came, then the next read, until the range is full. The
// callback of the read or task that runs next owns the decompression. If a
// callback is dropped, the decompression ends with it, and its reader gets
// CANCELLED.
//
// The range is made part by part (RangePart). A part is either copied from a
// kept piece or decompressed from an access point on. The first read of a part
// is as long as the part is expected to need; later ones have kMostRead bytes.
//
// If the caller has the bytes of a revision (`unless`), the first read asks
// whether the file still has that revision. The reads follow one another, and
// all have the range's ticket: readers share the read that is in flight. A
// reader who joins between two reads is kept in joined_, and joins the next
// read and the next task.

namespace forebay::storage::compressed {
namespace {

// The CPU time that decompressing a byte is expected to take, in nanoseconds.
// The estimate only orders tasks: jobs are charged for the time that is
// measured.
constexpr std::int64_t kNanosOfByte = 3;
constexpr std::int64_t kZstdNanosOfByte = 1;

// Checks the range and the size of a request against the index of the file.
absl::Status CheckRange(const ReadRequest& request,
                        const CompressedFile& file) {
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

class DecompressedSource::Decompression
    : public std::enable_shared_from_this<Decompression> {
 public:
  Decompression(DecompressedSource* source, ReadRequest request,
                const CompressedFile* file);
  ~Decompression();

  // Returns the next read of the source below. Its `done` continues the
  // decompression.
  ReadRequest NextRead();
  // Adds a reader, to whom later reads and tasks are also charged.
  void Join(const ReadPurpose& purpose);

 private:
  const DecompressedRoot& root() const {
    return static_cast<const DecompressedRoot&>(*request_.root);
  }
  bool is_zstd() const { return file_->compression == Compression::kZstd; }
  std::uint64_t end() const { return request_.offset + request_.length; }
  // Returns the memory of the part that is being made.
  absl::Span<std::uint8_t> out() const {
    return {buffer_.get() + (part_.begin - request_.offset),
            part_.end - part_.begin};
  }

  // Begins the part of the range whose first byte is `offset`.
  void BeginPart(std::uint64_t offset);
  // Takes the result of a read, and submits a task for it.
  void Take(absl::StatusOr<ReadResult> result);
  // Submits a task that calls Decompress, for all jobs that read the range.
  void SubmitTask();
  // Decompresses what was read, then continues or finishes.
  void Decompress();
  // Makes the reader of the part. May block for the disk that has the window.
  absl::Status MakeReader();
  // Copies the part from its kept piece. May block for the disk.
  absl::Status CopyPiece();
  // Begins the next part, or finishes if the range is full.
  void EndPart();
  // Makes the next read of the source below, and shares it with all readers.
  void ReadOn();
  // Frees the memory, then gives the reader the result.
  void Finish(absl::StatusOr<ReadResult> result);

  DecompressedSource* const source_;
  ReadRequest request_;  // its `done` is null once it was called
  const CompressedFile* const file_;
  std::shared_ptr<std::uint8_t> buffer_;
  // The part that is being made.
  RangePart part_;
  // The byte of the compressed file that the next read begins at.
  std::uint64_t next_ = 0;
  std::unique_ptr<CompressedReader> reader_;
  // The result of the last read.
  ReadResult read_;
  // The bytes of `read_` that the reader has not taken.
  absl::Span<const std::uint8_t> unseen_;

  base::Mutex mutex_;
  // The readers that have shared the range.
  std::vector<ReadPurpose> joined_ ABSL_GUARDED_BY(mutex_);
};

DecompressedSource::Decompression::Decompression(DecompressedSource* source,
                                                 ReadRequest request,
                                                 const CompressedFile* file)
    : source_(source), request_(std::move(request)), file_(file) {
  BeginPart(request_.offset);
}

void DecompressedSource::Decompression::BeginPart(std::uint64_t offset) {
  part_ = FirstPart(root().points(), *file_, offset, end());
  next_ = part_.first_byte;
}

DecompressedSource::Decompression::~Decompression() {
  if (request_.done != nullptr)
    Finish(StoppableSource::Stopped(request_.object));
  // The reader frees its memory first: once the count below is 0, the source
  // may be gone.
  reader_.reset();
  base::MutexLock lock(&source_->mutex_);
  if (--source_->decompressions_ == 0) source_->quiet_.NotifyAll();
}

ReadRequest DecompressedSource::Decompression::NextRead() {
  ReadRequest read;
  read.root = root().root();
  read.object = request_.object;
  read.version = root().CompressedVersion(request_.object, request_.version);
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
  // A kept piece needs no compressed bytes, only the knowledge that the file is
  // the same. A read of no bytes tells this. If `unless` is set, a read of one
  // byte also tells whether the caller has the bytes: the read then gives none.
  if (part_.piece_bytes > 0) most = read.unless.has_value() ? 1 : 0;
  read.length = request_.length == 0 ? 0 : most;
  next_ += read.length;
  read.done = [self = shared_from_this()](absl::StatusOr<ReadResult> result) {
    self->Take(std::move(result));
  };
  return read;
}

void DecompressedSource::Decompression::Join(const ReadPurpose& purpose) {
  base::MutexLock lock(&mutex_);
  joined_.push_back(purpose);
}

void DecompressedSource::Decompression::Take(
    absl::StatusOr<ReadResult> result) {
  if (!result.ok()) return Finish(result.status());
  read_ = *std::move(result);
  // The result has no bytes if the caller has the bytes already, or wants none.
  const bool all = read_.bytes.size() == 0 &&
                   (request_.unless.has_value() || request_.length == 0);
  if (all) return Finish(std::exchange(read_, {}));
  unseen_ = read_.bytes.span();
  SubmitTask();
}

void DecompressedSource::Decompression::SubmitTask() {
  ReadPurpose purpose = request_.purpose;
  {
    base::MutexLock lock(&mutex_);
    for (const ReadPurpose& other : joined_) {
      AddPayers(other, &purpose);
      purpose.urgency = std::min(purpose.urgency, other.urgency);
    }
  }
  const std::uint64_t bytes =
      std::min(part_.end - part_.point.offset, CompressedReader::kMostAtOnce);
  source_->run_(purpose,
                static_cast<std::int64_t>(bytes) *
                    (is_zstd() ? kZstdNanosOfByte : kNanosOfByte),
                [self = shared_from_this()] { self->Decompress(); });
}

void DecompressedSource::Decompression::Decompress() {
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

absl::Status DecompressedSource::Decompression::MakeReader() {
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
          file_->compression, part_.point,
          {reinterpret_cast<const std::uint8_t*>(window.data()), window.size()},
          part_.begin, out(), source_->scratches_));
  return absl::OkStatus();
}

absl::Status DecompressedSource::Decompression::CopyPiece() {
  FOREBAY_ASSIGN_OR_RETURN(
      const std::string piece,
      root().points().PieceOf(part_.point, part_.piece_bytes));
  std::copy_n(piece.data() + (part_.begin - part_.point.offset), out().size(),
              out().data());
  return absl::OkStatus();
}

void DecompressedSource::Decompression::EndPart() {
  reader_.reset();
  if (part_.end == end()) {
    ReadResult result;
    result.origin = read_.origin;
    result.revision = read_.revision;
    result.bytes = base::Bytes(buffer_, {buffer_.get(), request_.length});
    return Finish(std::move(result));
  }
  BeginPart(part_.end);
  // The reads of the previous part have shown that the file is the same.
  if (part_.piece_bytes > 0) return SubmitTask();
  ReadOn();
}

void DecompressedSource::Decompression::ReadOn() {
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

void DecompressedSource::Decompression::Finish(
    absl::StatusOr<ReadResult> result) {
  if (request_.ticket != 0) source_->Forget(request_.ticket);
  reader_.reset();
  buffer_.reset();
  read_ = {};
  const ReadDone done = std::exchange(request_.done, nullptr);
  done(std::move(result));
}

bool DecompressedSource::Leads(const Root& root) {
  return dynamic_cast<const DecompressedRoot*>(&root) != nullptr;
}

bool DecompressedSource::IsOfZstd(const ReadRequest& request) {
  const auto* const root =
      dynamic_cast<const DecompressedRoot*>(request.root.get());
  if (root == nullptr) return false;
  const CompressedFile* const file = root->points().Find(request.object);
  return file != nullptr && file->compression == Compression::kZstd;
}

DecompressedSource::DecompressedSource(ByteSource* below, RunTask run,
                                       std::size_t spare_bytes)
    : below_(below),
      run_(std::move(run)),
      buffers_(std::make_shared<BufferPool>(spare_bytes)) {}

DecompressedSource::~DecompressedSource() {
  base::MutexLock lock(&mutex_);
  while (decompressions_ > 0) quiet_.Wait(&mutex_);
}

void DecompressedSource::Read(absl::Span<ReadRequest> requests) {
  std::vector<ReadRequest> below;
  for (ReadRequest& request : requests) {
    const auto* const root =
        dynamic_cast<const DecompressedRoot*>(request.root.get());
    if (root == nullptr) {
      const ReadDone done = std::exchange(request.done, nullptr);
      done(absl::InvalidArgumentError(absl::StrCat(
          request.object, ": ", request.root->uri(), " is not decompressed")));
      continue;
    }
    const CompressedFile* const file = root->points().Find(request.object);
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
      ++decompressions_;
    }
    const auto decompression =
        std::make_shared<Decompression>(this, std::move(request), file);
    if (ticket != 0) {
      base::MutexLock lock(&mutex_);
      by_ticket_[ticket] = decompression;
    }
    below.push_back(decompression->NextRead());
  }
  if (!below.empty()) below_.Read(absl::MakeSpan(below));
}

void DecompressedSource::Share(std::uint64_t ticket,
                               const ReadPurpose& purpose) {
  std::shared_ptr<Decompression> decompression;
  {
    base::MutexLock lock(&mutex_);
    const auto found = by_ticket_.find(ticket);
    if (found != by_ticket_.end()) decompression = found->second.lock();
  }
  if (decompression != nullptr) decompression->Join(purpose);
  below_.Share(ticket, purpose);
}

void DecompressedSource::Forget(std::uint64_t ticket) {
  base::MutexLock lock(&mutex_);
  by_ticket_.erase(ticket);
}

}  // namespace forebay::storage::compressed

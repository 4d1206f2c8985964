#include "server/storage/gathered/gathered_source.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/bytes.h"
#include "server/base/status.h"
#include "server/storage/gathered/gathered_root.h"
#include "server/storage/new_ticket.h"

// A gathering reads some pieces, waits for all of them, and reads the next
// ones, until it has all bytes. Each piece is copied to its place in the range
// as it comes. `missing_` is the number of unfinished reads, plus 1 while the
// source below is being called to make them. The thread that brings the count
// to 0 makes the next reads. This is the thread that made the reads, or the
// thread that completes the last of them.
//
// If two pieces come from different revisions of the file, the gathering begins
// again with the first piece. Its result never mixes bytes of two revisions.
//
// Each read of a piece has a ticket of its own, since several are in flight at
// once. A reader who shares the range shares all these reads, and later ones as
// they are made.

namespace forebay::storage::gathered {
namespace {

// The most times that the pieces of a range are read while the file's revision
// changes.
constexpr int kMaxTries = 5;

// Completes a request whose pieces were not read.
void Complete(ReadRequest& request, absl::Status status) {
  const ReadDone done = std::exchange(request.done, nullptr);
  done(std::move(status));
}

}  // namespace

class GatheredSource::Gathering
    : public std::enable_shared_from_this<Gathering> {
 public:
  Gathering(GatheredSource* source, ReadRequest request,
            std::vector<Piece> pieces)
      : source_(source),
        request_(std::move(request)),
        pieces_(std::move(pieces)) {}
  ~Gathering();

  // Adds the next reads to `reads`. The caller calls EndReads once the source
  // below has them.
  void BeginReads(std::vector<ReadRequest>* reads);
  // Notes that the source below has the reads. If all of them are done already,
  // makes the next ones.
  void EndReads() {
    if (Arrive()) ReadOn();
  }
  // Adds a reader. Returns the tickets of the reads in flight, for the caller
  // to share.
  std::vector<std::uint64_t> Join(const ReadPurpose& purpose);

 private:
  const GatheredRoot& root() const {
    return static_cast<const GatheredRoot&>(*request_.root);
  }
  // Returns a read of the piece, whose bytes go to place `at` of the range.
  ReadRequest ReadOf(const Piece& piece, std::uint64_t at);
  // Takes the result of a piece's read. Makes the next reads if this was the
  // last read in flight.
  void Take(const Piece& piece, std::uint64_t at,
            absl::StatusOr<ReadResult> result);
  // Copies the bytes of a piece to their place.
  absl::Status Copy(const Piece& piece, std::uint64_t at,
                    const ReadResult& result);
  // Takes one off `missing_`. Returns whether it is 0 now.
  bool Arrive();
  // Returns whether nothing is left to read. Begins again if the pieces came
  // from several revisions.
  bool IsOver();
  // Makes the next reads, or finishes.
  void ReadOn();
  void Finish();

  GatheredSource* const source_;
  ReadRequest request_;  // its `done` is null once it was called
  // Only the thread that makes the next reads uses the members up to `tries_`.
  const std::vector<Piece> pieces_;
  std::size_t next_piece_ = 0;
  // The offset in the next piece at which the next read begins.
  std::uint64_t within_ = 0;
  // The offset in the range at which the next read's bytes go.
  std::uint64_t at_ = 0;
  int tries_ = 1;

  base::Mutex mutex_;
  // The number of reads that are not done, plus 1 while the source below is
  // called.
  std::size_t missing_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);  // the first error
  // Whether the caller has the bytes of this revision already.
  bool has_all_ ABSL_GUARDED_BY(mutex_) = false;
  // The file's revision, as the read of the first piece gave it.
  std::optional<Revision> revision_ ABSL_GUARDED_BY(mutex_);
  // Whether pieces of several revisions came.
  bool is_mixed_ ABSL_GUARDED_BY(mutex_) = false;
  ReadResult result_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<std::uint8_t> buffer_ ABSL_GUARDED_BY(mutex_);
  // The tickets of the reads in flight.
  std::vector<std::uint64_t> tickets_ ABSL_GUARDED_BY(mutex_);
  // The readers that have shared the range.
  std::vector<ReadPurpose> joined_ ABSL_GUARDED_BY(mutex_);
};

GatheredSource::Gathering::~Gathering() {
  // The source below has dropped a read.
  if (request_.done != nullptr)
    Complete(request_, StoppableSource::Stopped(request_.object));
  base::MutexLock lock(&source_->mutex_);
  if (--source_->in_flight_ == 0) source_->quiet_.NotifyAll();
}

void GatheredSource::Gathering::BeginReads(std::vector<ReadRequest>* reads) {
  const std::size_t before = reads->size();
  // If the caller has the bytes of a revision, a first read tells whether the
  // file still has that revision.
  const bool asks = at_ == 0 && request_.unless.has_value();
  const std::size_t most = asks ? 1 : kMostPieces;
  std::uint64_t left = kMostAtOnce;
  std::vector<std::uint64_t> tickets;
  while (reads->size() - before < most && left > 0 &&
         next_piece_ < pieces_.size()) {
    Piece piece = pieces_[next_piece_];
    piece.offset += within_;
    piece.length = std::min(piece.length - within_, left);
    reads->push_back(ReadOf(piece, at_));
    if (reads->back().ticket != 0) tickets.push_back(reads->back().ticket);
    if (asks) reads->back().unless = request_.unless;
    within_ += piece.length;
    at_ += piece.length;
    left -= piece.length;
    if (within_ < pieces_[next_piece_].length) continue;
    ++next_piece_;
    within_ = 0;
  }
  base::MutexLock lock(&mutex_);
  missing_ = reads->size() - before + 1;
  tickets_ = std::move(tickets);
}

ReadRequest GatheredSource::Gathering::ReadOf(const Piece& piece,
                                              std::uint64_t at) {
  ReadRequest read;
  read.root = root().root();
  read.object = request_.object;
  read.version = root().OwnVersion(request_.object, request_.version);
  read.layout = request_.layout;
  read.uncached = request_.uncached;
  read.purpose = request_.purpose;
  read.sample = request_.sample;
  if (request_.ticket != 0) read.ticket = NewTicket();
  read.offset = piece.offset;
  read.length = piece.length;
  read.done = [self = shared_from_this(), piece,
               at](absl::StatusOr<ReadResult> result) {
    self->Take(piece, at, std::move(result));
  };
  return read;
}

std::vector<std::uint64_t> GatheredSource::Gathering::Join(
    const ReadPurpose& purpose) {
  base::MutexLock lock(&mutex_);
  joined_.push_back(purpose);
  return tickets_;
}

void GatheredSource::Gathering::Take(const Piece& piece, std::uint64_t at,
                                     absl::StatusOr<ReadResult> result) {
  const absl::Status status =
      result.ok() ? Copy(piece, at, *result) : result.status();
  if (result.ok()) result->bytes = {};
  {
    base::MutexLock lock(&mutex_);
    if (status_.ok()) status_ = status;
    if (status.ok()) {
      if (!revision_.has_value()) revision_ = result->revision;
      is_mixed_ = is_mixed_ || result->revision != *revision_;
      result_ = *std::move(result);
    }
  }
  if (Arrive()) ReadOn();
}

absl::Status GatheredSource::Gathering::Copy(const Piece& piece,
                                             std::uint64_t at,
                                             const ReadResult& result) {
  std::shared_ptr<std::uint8_t> buffer;
  {
    base::MutexLock lock(&mutex_);
    if (result.bytes.size() == 0 && request_.unless.has_value()) {
      has_all_ = true;
      return absl::OkStatus();
    }
    if (buffer_ == nullptr) buffer_ = source_->buffers_->Take(request_.length);
    buffer = buffer_;
  }
  if (buffer == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat(request_.object, ": there is no memory for ",
                     request_.length, " bytes"));
  }
  if (result.bytes.size() != piece.length) {
    return absl::DataLossError(absl::StrCat(
        request_.object, ": only ", result.bytes.size(), " of ", piece.length,
        " bytes at byte ", piece.offset, " could be read"));
  }
  std::copy_n(result.bytes.data(), piece.length, buffer.get() + at);
  return absl::OkStatus();
}

bool GatheredSource::Gathering::Arrive() {
  base::MutexLock lock(&mutex_);
  return --missing_ == 0;
}

bool GatheredSource::Gathering::IsOver() {
  base::MutexLock lock(&mutex_);
  if (!status_.ok() || has_all_) return true;
  if (!is_mixed_) return next_piece_ == pieces_.size();
  if (++tries_ > kMaxTries) {
    status_ = absl::UnavailableError(
        absl::StrCat(request_.object, ": is being changed while it is read"));
    return true;
  }
  next_piece_ = 0;
  within_ = 0;
  at_ = 0;
  revision_.reset();
  is_mixed_ = false;
  return false;
}

void GatheredSource::Gathering::ReadOn() {
  // The reads may already have finished when Read returns. This loop then
  // begins the next reads. If the callbacks of the reads called ReadOn instead,
  // the stack would grow with each round of reads.
  while (!IsOver()) {
    std::vector<ReadRequest> reads;
    BeginReads(&reads);
    std::vector<std::uint64_t> tickets;
    for (const ReadRequest& read : reads) tickets.push_back(read.ticket);
    source_->below_.Read(absl::MakeSpan(reads));
    std::vector<ReadPurpose> joined;
    {
      base::MutexLock lock(&mutex_);
      joined = joined_;
    }
    for (const ReadPurpose& purpose : joined) {
      for (const std::uint64_t ticket : tickets)
        source_->below_.Share(ticket, purpose);
    }
    if (!Arrive()) return;
  }
  Finish();
}

void GatheredSource::Gathering::Finish() {
  if (request_.ticket != 0) source_->Forget(request_.ticket);
  absl::StatusOr<ReadResult> result;
  {
    base::MutexLock lock(&mutex_);
    if (status_.ok()) {
      result = std::move(result_);
      if (!has_all_)
        result->bytes = base::Bytes(buffer_, {buffer_.get(), request_.length});
    } else {
      result = status_;
    }
    buffer_.reset();
  }
  const ReadDone done = std::exchange(request_.done, nullptr);
  done(std::move(result));
}

bool GatheredSource::Leads(const Root& root) {
  return dynamic_cast<const GatheredRoot*>(&root) != nullptr;
}

GatheredSource::~GatheredSource() {
  base::MutexLock lock(&mutex_);
  while (in_flight_ > 0) quiet_.Wait(&mutex_);
}

void GatheredSource::Read(absl::Span<ReadRequest> requests) {
  std::vector<ReadRequest> below;
  std::vector<std::shared_ptr<Gathering>> gatherings;
  for (ReadRequest& request : requests)
    Sort(std::move(request), &below, &gatherings);
  if (!below.empty()) below_.Read(absl::MakeSpan(below));
  for (const auto& gathering : gatherings) gathering->EndReads();
}

void GatheredSource::Sort(ReadRequest request, std::vector<ReadRequest>* below,
                          std::vector<std::shared_ptr<Gathering>>* gatherings) {
  const auto* const root =
      dynamic_cast<const GatheredRoot*>(request.root.get());
  if (root == nullptr) {
    return Complete(request, absl::InvalidArgumentError(absl::StrCat(
                                 request.object, ": ", request.root->uri(),
                                 " has nothing that is gathered")));
  }
  const std::uint64_t size = request.version.size;
  if (request.offset > size || request.length > size - request.offset) {
    return Complete(
        request, absl::InvalidArgumentError(absl::StrCat(
                     request.object, ": ", request.length, " bytes from byte ",
                     request.offset, " on are outside of it")));
  }
  const ObjectVersion own = root->OwnVersion(request.object, request.version);
  const std::uint64_t end = request.offset + request.length;
  if (end <= own.size || request.length == 0) {
    request.offset = std::min(request.offset, own.size);
    request.version = own;
    request.root = root->root();
    below->push_back(std::move(request));
    return;
  }
  const std::uint64_t begin = std::max(request.offset, own.size);
  auto found = root->pieces().Find(request.object, begin, end - begin);
  if (!found.ok())
    return Complete(request, base::Annotate(found.status(), request.object));
  std::vector<Piece> pieces = *std::move(found);
  if (request.offset < own.size)
    pieces.insert(pieces.begin(), {request.offset, own.size - request.offset});
  const std::uint64_t ticket = request.ticket;
  {
    base::MutexLock lock(&mutex_);
    ++in_flight_;
  }
  const auto gathering =
      std::make_shared<Gathering>(this, std::move(request), std::move(pieces));
  if (ticket != 0) {
    base::MutexLock lock(&mutex_);
    by_ticket_[ticket] = gathering;
  }
  gathering->BeginReads(below);
  gatherings->push_back(gathering);
}

void GatheredSource::Share(std::uint64_t ticket, const ReadPurpose& purpose) {
  std::shared_ptr<Gathering> gathering;
  {
    base::MutexLock lock(&mutex_);
    const auto found = by_ticket_.find(ticket);
    if (found != by_ticket_.end()) gathering = found->second.lock();
  }
  std::vector<std::uint64_t> tickets = {ticket};
  if (gathering != nullptr) tickets = gathering->Join(purpose);
  for (const std::uint64_t one : tickets) below_.Share(one, purpose);
}

void GatheredSource::Forget(std::uint64_t ticket) {
  base::MutexLock lock(&mutex_);
  by_ticket_.erase(ticket);
}

}  // namespace forebay::storage::gathered

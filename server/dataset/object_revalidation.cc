#include "server/dataset/object_revalidation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/bytes.h"

// A ctime changes by chmod, by another hard link, and by a write after which
// the mtime is set back. Only the write matters. To tell them apart, the
// format's parser reads again the bytes from which the index was made, such as
// the headers of a tar file. All reads must be of one revision: otherwise they
// might be of different files.

namespace forebay::dataset {
namespace {

// The most attempts to parse one object. An object that changes during each
// attempt cannot be read.
constexpr int kMaxScans = 8;

constexpr std::string_view kRewritten =
    "was rewritten since the dataset was indexed";

}  // namespace

ObjectRevalidation::ObjectRevalidation(const storage::ReadRequest& read,
                                       storage::ByteSource& source,
                                       base::MemoryBudget* budget,
                                       std::string what, Done done)
    : memory_(budget, std::move(what)),
      root_(read.root),
      object_(read.object),
      version_(read.version),
      purpose_(read.purpose),
      ticket_(read.ticket),
      source_(source),
      done_(std::move(done)) {}

void ObjectRevalidation::Begin() {
  if (++scans_ > kMaxScans) return Fail("is changed again and again");
  // A ctime of 0 means that the ctime is unknown. So the first read accepts the
  // present revision.
  revision_ = version_.revision;
  revision_.ctime_nanos = 0;
  const auto parser = Parse(&memory_);
  if (!parser.ok()) return done_(parser.status());
  parser_ = *parser;
  Next();
}

void ObjectRevalidation::Next() {
  const auto range = parser_->next_read();
  if (!range.has_value()) {
    if (!Accept(revision_)) return Fail(kRewritten);
    return done_(revision_);
  }
  const absl::Status counted = memory_.Grow(storage::HeldBytes(range->length));
  if (!counted.ok()) return done_(counted);
  storage::ReadRequest request;
  request.root = root_;
  request.object = object_;
  request.version = version_;
  request.version.revision = revision_;
  request.offset = range->offset;
  request.length = range->length;
  request.purpose = purpose_;
  request.ticket = ticket_;
  request.done = [self = shared_from_this(), length = range->length](
                     const absl::StatusOr<storage::ReadResult>& result) {
    self->Take(result, length);
  };
  source_.Read({&request, 1});
}

void ObjectRevalidation::Take(const absl::StatusOr<storage::ReadResult>& result,
                              std::uint64_t length) {
  memory_.Shrink(storage::HeldBytes(length));
  // ABORTED means that the ctime has changed again since the read before.
  if (absl::IsAborted(result.status())) return Begin();
  if (!result.ok()) return done_(result.status());
  revision_ = result->revision;
  if (result->bytes.size() != length) return Fail(kRewritten);
  const absl::Status taken = parser_->Take(result->bytes.span());
  if (absl::IsResourceExhausted(taken)) return done_(taken);
  // The object is now malformed, or lacks what was indexed.
  if (!taken.ok()) return Fail(kRewritten);
  Next();
}

void ObjectRevalidation::Fail(std::string_view reason) {
  done_(absl::FailedPreconditionError(
      absl::StrCat(object_, ": ", std::string(reason))));
}

}  // namespace forebay::dataset

#include "server/dataset/object_rescan.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/bytes.h"

namespace forebay::dataset {
namespace {

// An object that is touched again and again cannot be read.
constexpr int kMaxScans = 8;

constexpr std::string_view kRewritten =
    "was rewritten since the dataset was indexed";

}  // namespace

ObjectRescan::ObjectRescan(const storage::ReadRequest& read,
                           storage::ByteSource& source,
                           base::MemoryBudget* budget, std::string what,
                           Done done)
    : memory_(budget, std::move(what)),
      root_(read.root),
      object_(read.object),
      version_(read.version),
      purpose_(read.purpose),
      ticket_(read.ticket),
      source_(source),
      done_(std::move(done)) {}

void ObjectRescan::Begin() {
  if (++scans_ > kMaxScans) return Fail("is changed again and again");
  seen_ = version_.revision;
  seen_.ctime_nanos = 0;
  const auto parser = Parse(&memory_);
  if (!parser.ok()) return done_(parser.status());
  parser_ = *parser;
  Next();
}

void ObjectRescan::Next() {
  const auto range = parser_->next_read();
  if (!range.has_value()) {
    if (!Accept(seen_)) return Fail(kRewritten);
    return done_(seen_);
  }
  const absl::Status counted = memory_.Grow(storage::HeldBytes(range->length));
  if (!counted.ok()) return done_(counted);
  storage::ReadRequest request;
  request.root = root_;
  request.object = object_;
  request.version = version_;
  request.version.revision = seen_;
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

void ObjectRescan::Take(const absl::StatusOr<storage::ReadResult>& result,
                        std::uint64_t length) {
  memory_.Shrink(storage::HeldBytes(length));
  if (absl::IsAborted(result.status())) return Begin();
  if (!result.ok()) return done_(result.status());
  seen_ = result->revision;
  if (result->bytes.size() != length) return Fail(kRewritten);
  const absl::Status taken = parser_->Take(result->bytes.span());
  if (absl::IsResourceExhausted(taken)) return done_(taken);
  // The object is malformed now, or lacks what was indexed.
  if (!taken.ok()) return Fail(kRewritten);
  Next();
}

void ObjectRescan::Fail(std::string_view reason) {
  done_(absl::FailedPreconditionError(
      absl::StrCat(object_, ": ", std::string(reason))));
}

}  // namespace forebay::dataset

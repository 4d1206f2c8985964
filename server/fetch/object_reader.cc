// A range is read in blocks: each block by a request of its own, and all
// requests at once. Blocks begin at multiples of their size, so that the cache
// serves all ranges of an object from the same entries. When all requests are
// done, the blocks are copied to the window, one after another.
//
// If a read is stopped, its requests in flight go on. These requests own the
// blocks and the memory reserved for them, and never touch the window.
#include "server/fetch/object_reader.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "server/base/bytes.h"
#include "server/base/duplicate.h"
#include "server/base/status.h"
#include "server/fetch/countdown.h"

namespace forebay::fetch {
namespace {

// The fewest bytes of a window.
constexpr std::uint64_t kMinWindow = std::uint64_t{1} << 20;
// The most attempts to read an object that changes meanwhile.
constexpr int kMaxTries = 3;

// The blocks of one read. Requests in flight share them, since the read may
// have been stopped. One thread at a time uses each block.
struct Blocks {
  Blocks(std::size_t count, base::MemoryReservation memory)
      : reservation(std::move(memory)), read(count), countdown(count) {}

  base::MemoryReservation reservation;
  std::vector<absl::StatusOr<base::Bytes>> read;
  Countdown countdown;
};

// Checks a range that a client sent.
absl::Status CheckRange(const ObjectRange& range) {
  const std::uint64_t block = range.block_bytes;
  if (block < ObjectReader::kMinBlock || block > ObjectReader::kMaxLength ||
      !std::has_single_bit(block)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a block has a power of two of bytes, ", ObjectReader::kMinBlock,
        " to ", ObjectReader::kMaxLength, ", not ", block));
  }
  if (range.length > ObjectReader::kMaxLength || range.offset % block != 0 ||
      (!range.version.has_value() && range.offset != 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "at most ", ObjectReader::kMaxLength, " bytes are read at once, from ",
        "the begin of a block on, not ", range.length, " from ", range.offset));
  }
  if (!range.version.has_value()) return absl::OkStatus();
  // Only the object's last block may be shorter than `block`. If others could
  // be shorter, the cache would get parts of blocks.
  const std::uint64_t size = range.version->size;
  if (range.offset > size || range.length > size - range.offset ||
      (range.length % block != 0 && range.offset + range.length != size)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "its blocks have ", block, " bytes and end with it, at ", size, "; ",
        range.length, " bytes from ", range.offset, " are none of them"));
  }
  return absl::OkStatus();
}

// If `status` means that the object has another version, returns an error that
// says so. Otherwise returns `status`.
absl::Status AsChanged(const std::string& object, const absl::Status& status) {
  if (!absl::IsFailedPrecondition(status) && !absl::IsAborted(status) &&
      !absl::IsNotFound(status))
    return status;
  return absl::FailedPreconditionError(absl::StrCat(
      object, ": was changed, replaced or removed since it was opened"));
}

}  // namespace

absl::StatusOr<ObjectRead> ObjectReader::Read(const ObjectRange& range,
                                              const std::stop_token& stop) {
  const absl::Status checked = CheckRange(range);
  if (!checked.ok()) {
    return base::Annotate(checked,
                          absl::StrCat(range.root->uri(), ": ", range.object));
  }
  auto read = range.version.has_value()
                  ? ReadVersion(range, *range.version, stop)
                  : ReadAsItIs(range, stop);
  if (read.ok()) return read;
  return base::Annotate(read.status(), range.root->uri());
}

absl::StatusOr<ObjectRead> ObjectReader::ReadAsItIs(
    const ObjectRange& range, const std::stop_token& stop) {
  for (int tries = 1;; ++tries) {
    FOREBAY_ASSIGN_OR_RETURN(
        const storage::ObjectVersion version,
        deps_.find_version(*range.root, range.object, stop));
    ObjectRange whole = range;
    // If the object has more than range.length bytes, only its version is
    // returned.
    whole.length = version.size <= range.length ? version.size : 0;
    auto read = ReadVersion(whole, version, stop);
    if (!absl::IsFailedPrecondition(read.status()) || tries == kMaxTries)
      return read;
  }
}

absl::StatusOr<ObjectRead> ObjectReader::ReadVersion(
    const ObjectRange& range, const storage::ObjectVersion& version,
    const std::stop_token& stop) {
  const std::uint64_t count =
      (range.length + range.block_bytes - 1) / range.block_bytes;
  const std::uint64_t end = range.offset + range.length;
  FOREBAY_ASSIGN_OR_RETURN(
      base::MemoryReservation reservation,
      deps_.budget->Reserve(
          count * storage::HeldBytes(std::min(range.block_bytes, range.length)),
          absl::StrCat("reading ", range.length, " bytes of ", range.object)));
  const auto blocks = std::make_shared<Blocks>(count, std::move(reservation));
  std::vector<storage::ReadRequest> requests(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    storage::ReadRequest& request = requests[i];
    request.root = range.root;
    request.object = range.object;
    request.version = version;
    request.offset = range.offset + i * range.block_bytes;
    request.length = std::min(range.block_bytes, end - request.offset);
    request.purpose.job = flow_;
    request.done = [blocks, i](absl::StatusOr<storage::ReadResult> result) {
      if (result.ok())
        blocks->read[i] = std::move(result->bytes);
      else
        blocks->read[i] = result.status();
      blocks->countdown.Done();
    };
  }
  if (count > 0) deps_.source->Read(absl::MakeSpan(requests));
  {
    const std::stop_callback on_stop(stop, [&] { blocks->countdown.Cancel(); });
    if (!blocks->countdown.Await()) {
      return absl::CancelledError(
          absl::StrCat(range.object, ": was not read to the end"));
    }
  }
  ObjectRead read;
  read.version = version;
  FOREBAY_RETURN_IF_ERROR(MakeWindow(range.length));
  for (absl::StatusOr<base::Bytes>& block : blocks->read) {
    if (!block.ok()) return AsChanged(range.object, block.status());
    std::copy_n(block->data(), block->size(), window_->data() + read.bytes);
    read.bytes += block->size();
    *block = {};
  }
  if (!window_.has_value() || window_is_known_) return read;
  FOREBAY_ASSIGN_OR_RETURN(read.window, base::Duplicate(window_->fd()));
  read.window_bytes = window_->bytes();
  window_is_known_ = true;
  return read;
}

absl::Status ObjectReader::MakeWindow(std::uint64_t bytes) {
  const std::uint64_t have = window_.has_value() ? window_->bytes() : 0;
  if (have >= bytes) return absl::OkStatus();
  // The old window is released first, so that the budget need not have room for
  // both.
  window_.reset();
  window_is_known_ = false;
  reservation_.Release();
  const std::uint64_t wanted = std::max(std::bit_ceil(bytes), kMinWindow);
  FOREBAY_ASSIGN_OR_RETURN(
      reservation_,
      deps_.budget->Reserve(wanted, "a window for ranges of objects"));
  FOREBAY_ASSIGN_OR_RETURN(
      window_, slots::SharedMemory::Create("forebay-window", wanted,
                                           slots::ClientAccess::kRead));
  return absl::OkStatus();
}

}  // namespace forebay::fetch

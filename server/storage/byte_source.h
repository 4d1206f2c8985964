#ifndef FOREBAY_SERVER_STORAGE_BYTE_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_BYTE_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/bytes.h"

namespace forebay::storage {

class ReadAheadHints;
class ObjectLayout;

// Distinguishes files of the same name, size and mtime, as far as their file
// system can. If another file was renamed to the name, the inode differs. If
// the file was overwritten, the ctime differs. A field that is 0 is unknown,
// and matches any value.
struct Revision {
  // The inode's number, or 0 if the file system may number files differently at
  // each mount.
  std::uint64_t inode = 0;
  // The time of the inode's last change, in nanoseconds since 1970; 0 if
  // unknown.
  std::int64_t ctime_nanos = 0;
  // A number in the file itself that its writers increase with each change, or
  // 0 if there is none. The number shows changes that leave mtime and ctime as
  // they were (see ObjectLayout).
  std::uint64_t transaction_id = 0;

  bool operator==(const Revision&) const = default;
};

// The state that an object must still have when it is read.
struct ObjectVersion {
  std::uint64_t size = 0;  // bytes
  // A file's mtime in nanoseconds since 1970, or a cloud object's generation.
  std::int64_t stamp = 0;
  // The revision is set only for files whose index holds the offsets of their
  // samples. Neither saved states of loaders nor ranks of a job compare
  // revisions.
  Revision revision = {};

  bool operator==(const ObjectVersion&) const = default;
};

// The place below which a dataset's objects are named: a directory that a
// client opened, or a bucket. Thread-safe and immutable; all its readers share
// it. No call blocks. No errors.
class Root {
 public:
  virtual ~Root() = default;
  // Returns the root's human-readable name.
  virtual const std::string& uri() const = 0;
  // Returns the root's identity for caches in memory, or null if nothing below
  // it may be cached. Roots of equal identity share cached bytes. Two roots
  // have the same identity only if both conditions hold:
  // - An object's name and version mean the same bytes below both.
  // - Everyone who may read through one root may read through the other.
  virtual std::shared_ptr<const std::string> identity() const;
  // Whether the root knows, without asking the source, that the object still
  // has that version and that revision. If so, a cache may give out the
  // object's bytes; if not, the cache asks the source (ReadRequest::unless).
  // Always true where the bytes of a version never change, such as those of a
  // generation in a bucket.
  virtual bool StillHas(const std::string& object,
                        const ObjectVersion& version) const;
  // Returns an identity that is stable across restarts of the daemon and the
  // host. Null if the root must not be cached on a disk of this host: it has no
  // such identity, or that disk would be no faster.
  virtual std::shared_ptr<const std::string> lasting_identity() const;
};

inline std::shared_ptr<const std::string> Root::identity() const {
  return nullptr;
}
inline bool Root::StillHas(const std::string&, const ObjectVersion&) const {
  return true;
}
inline std::shared_ptr<const std::string> Root::lasting_identity() const {
  return nullptr;
}

// Names the jobs and the urgency of a read, for the schedulers and caches
// below.
struct ReadPurpose {
  std::uint64_t job = 0;
  // The estimated nanoseconds until the reader has no data left: a smaller
  // number is more urgent.
  std::uint64_t urgency = 0;
  // The nanoseconds from now until the bytes are wanted again.
  std::int64_t next_use_nanos = INT64_MAX;
  // The jobs that pay for the read, in equal parts. Null if `job` pays alone.
  std::shared_ptr<const std::vector<std::uint64_t>> payers = nullptr;
};

// Returns the jobs that pay for a read: at least one, and each of them once.
inline absl::Span<const std::uint64_t> PayersOf(const ReadPurpose& purpose) {
  if (purpose.payers == nullptr) return {&purpose.job, 1};
  return *purpose.payers;
}

// The sample that a read's bytes belong to. Caches use it to look up when the
// bytes are wanted again.
struct SampleRef {
  // The dataset's number, the same for all its readers; 0 if it has none.
  std::uint64_t dataset = 0;
  std::uint64_t sample = 0;
};

// The tier that gave the bytes of a read: the source itself, or a cache in
// front of it.
enum class Origin : std::uint8_t {
  kSource,
  kCached,
};

// The form in which bytes are cached: kEncoded, or a number on which readers
// agree, such as the one for an image's decoded pixels.
using Variant = std::uint64_t;
inline constexpr Variant kEncoded = 0;  // the object's own bytes

// The bytes that a read gave, and where they came from.
struct ReadResult {
  base::Bytes bytes;
  // The form of `bytes`: kEncoded, or the variant that the request prefers.
  Variant variant = kEncoded;
  Origin origin = Origin::kSource;
  // The revision of the object that was read; empty if the source knows none.
  Revision revision = {};
};

// Receives the result of a read. The source calls it exactly once, on any
// thread, perhaps before Read returns. The callback must not block.
using ReadDone = std::function<void(absl::StatusOr<ReadResult>)>;

// A read of a range of an object. ByteSource::Read moves its contents out.
struct ReadRequest {
  std::shared_ptr<const Root> root;
  std::string object;  // path below the root
  ObjectVersion version;
  std::uint64_t offset = 0;  // bytes
  std::uint64_t length = 0;  // bytes; offset + length <= version.size
  // The object's layout, if `version` has a revision. Null if nothing can check
  // the layout after the ctime alone has changed.
  std::shared_ptr<const ObjectLayout> layout;
  // Whether the bytes must come from the source itself: caches neither give nor
  // keep them.
  bool uncached = false;
  // The revision whose bytes the caller already has. If the object still has
  // that revision, the result has no bytes. A source that cannot tell returns
  // all bytes.
  std::optional<Revision> unless;
  ReadPurpose purpose;
  SampleRef sample;
  // Tells which samples are wanted soon after this one. A cache may read them
  // together with this one. Null if unknown.
  std::shared_ptr<const ReadAheadHints> read_ahead_hints;
  // Whether some of the samples of `read_ahead_hints` are due now, even if this
  // sample is cached.
  bool neighbours_due = false;
  // The variant that the caller prefers if a cache has it. kEncoded: the caller
  // takes no other variant.
  Variant variant = kEncoded;
  // Names the read for Share. No other read in flight has the same ticket. The
  // ticket is 0 if the caller never shares the read.
  std::uint64_t ticket = 0;
  // Receives all `length` bytes, or an error.
  ReadDone done;
};

// Reads ranges of objects. Decorators (cache, scheduler, retries, faults) are
// ByteSources too.
//
// Thread-safe. The caller owns the source, whose destruction completes the
// reads in flight first. Read does not block.
//
// Errors reach `done`; each names the object and the reason:
// - NOT_FOUND: the object was deleted.
// - FAILED_PRECONDITION: the object has another version than was asked for.
// - ABORTED: only the object's ctime differs from that in the version's
//   revision.
// - PERMISSION_DENIED.
// - INVALID_ARGUMENT: not a regular file, or the range ends beyond the object.
// - UNAVAILABLE: a fault that may pass.
// - DATA_LOSS: the object is shorter than its version says.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Starts all reads, and takes the requests' contents.
  virtual void Read(absl::Span<ReadRequest> requests) = 0;

  // Adds a reader to the read that `ticket` names. A source that divides its
  // resource among jobs charges the read to all its readers, and queues it by
  // the most urgent of these readers. Does nothing if no read in flight has the
  // ticket.
  virtual void Share(std::uint64_t ticket, const ReadPurpose& purpose);
};

inline void ByteSource::Share(std::uint64_t, const ReadPurpose&) {}

// The layout of an object, as an index knows it. Revalidate checks whether the
// layout is still the same after the object's ctime alone has changed. The
// ctime changes by chmod, by a further hard link, or when a writer sets the
// mtime back.
//
// Thread-safe and immutable; its readers share it. Revalidate does not block.
// Errors are those of Revalidate.
class ObjectLayout {
 public:
  virtual ~ObjectLayout() = default;

  // Reads a part of an object at `offset` into `bytes`. Returns whether all
  // bytes came.
  using ReadPart =
      std::function<bool(std::uint64_t offset, absl::Span<std::uint8_t> bytes)>;
  // Finds the transaction id (see Revision) that an object has now, by reads of
  // small parts. Returns nothing if a read failed, or if the object has none.
  //
  // If a version has a transaction id, a source of local files checks the
  // file's id after each read. If the ids differ, the read fails with
  // FAILED_PRECONDITION. Versions of other sources have no transaction id.
  virtual std::optional<std::uint64_t> FindTransactionId(
      const ReadPart&) const {
    return std::nullopt;
  }

  // Reads the layout again through `source`, after `read` has failed with
  // ABORTED. Revalidate reads one part at a time. Each of these reads has the
  // ticket of `read`, which is not in flight meanwhile.
  //
  // Calls `done` once, on any thread, perhaps before Revalidate returns. `done`
  // gets the object's current revision if that has the same layout. Errors:
  // FAILED_PRECONDITION (the object has another layout now), and those of the
  // source.
  virtual void Revalidate(
      const ReadRequest& read, ByteSource& source,
      std::function<void(absl::StatusOr<Revision>)> done) const = 0;
};

// Returns the most bytes of memory that a source holds for a read of `length`
// bytes, until the last copy of its Bytes is gone. A BufferPool rounds sizes up
// by a quarter at most, and its smallest buffer has 4 KiB.
constexpr std::uint64_t HeldBytes(std::uint64_t length) {
  return length + length / 4 + 4096;
}

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_BYTE_SOURCE_H_

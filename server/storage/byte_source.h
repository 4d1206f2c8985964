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

// Tells files of one name, size and mtime apart, as far as their file system
// does. A file that was renamed to the name has another inode; one that was
// written over has another ctime. A part that is 0 is unknown, and agrees with
// any.
struct Revision {
  std::uint64_t inode = 0;
  std::int64_t ctime_nanos = 0;
  // A number in the file itself that its writers count up, which tells of
  // changes that no time does: see ObjectLayout. 0 if it has none.
  std::uint64_t mark = 0;

  bool operator==(const Revision&) const = default;
};

// The state that an object must still have when it is read.
struct ObjectVersion {
  std::uint64_t size = 0;  // bytes
  std::int64_t stamp =
      0;  // a file's mtime in nanoseconds; a cloud object's generation
  // Set only where it matters which file it is: for a shard, whose index has
  // the offsets of its samples. States and ranks never compare it.
  Revision revision = {};

  bool operator==(const ObjectVersion&) const = default;
};

// The place below which a dataset's objects are named: a directory that a
// client opened, a bucket. Thread-safe and immutable; all its readers share it.
class Root {
 public:
  virtual ~Root() = default;
  // Names the root for people.
  virtual const std::string& uri() const = 0;
  // Equal for two roots only if an object's name and version mean the same
  // bytes below both, and whoever may read through one may read through the
  // other. Such roots share cached bytes. Null if nothing that is read through
  // this root may be cached.
  virtual std::shared_ptr<const std::string> identity() const;
  // Whether the root knows at once that the object still has that version and
  // that very revision. Only then may a cache give out its bytes unasked; else
  // it asks the source (ReadRequest::unless). True if a version's bytes never
  // change, as those of a bucket's generation.
  virtual bool StillHas(const std::string& object,
                        const ObjectVersion& version) const;
  // Like identity(), but stable across restarts of the daemon and the host.
  // Null if the root must not be cached on a disk of this host: it has no such
  // name, or its bytes would be no nearer there.
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

// The jobs and the urgency of a read, for the schedulers and caches below.
struct ReadPurpose {
  std::uint64_t job = 0;
  std::uint64_t urgency = 0;  // smaller is sooner; nanoseconds, by guess
  std::int64_t next_use_nanos =
      INT64_MAX;  // from now until the bytes are wanted again
  // The jobs that pay for it, in equal parts. Null if `job` pays alone.
  std::shared_ptr<const std::vector<std::uint64_t>> payers = nullptr;
};

// Returns the jobs that pay: at least one, none of them twice.
inline absl::Span<const std::uint64_t> PayersOf(const ReadPurpose& purpose) {
  if (purpose.payers == nullptr) return {&purpose.job, 1};
  return *purpose.payers;
}

// The sample that the bytes are of, by which caches ask when it is wanted
// again.
struct SampleRef {
  std::uint64_t dataset = 0;  // a number that its readers agree on; 0: none
  std::uint64_t sample = 0;
};

// The tier that gave the bytes of a read.
enum class Origin : std::uint8_t {
  kSource,  // where they lie
  kCached,  // a cache on the way there
};

// The form in which bytes are cached: kEncoded, or a number that readers agree
// on, such as that of an image's pixels.
using Variant = std::uint64_t;
inline constexpr Variant kEncoded = 0;  // the bytes themselves

// The result of a read.
struct ReadResult {
  base::Bytes bytes;
  Variant variant = kEncoded;  // kEncoded, or what the request prefers
  Origin origin = Origin::kSource;
  Revision revision = {};  // of the object; empty if the source has none
};

// Called exactly once, on any thread, perhaps before Read returns; must not
// block.
using ReadDone = std::function<void(absl::StatusOr<ReadResult>)>;

struct ReadRequest {
  std::shared_ptr<const Root> root;
  std::string object;  // path below the root
  ObjectVersion version;
  std::uint64_t offset = 0;  // bytes
  std::uint64_t length = 0;  // bytes; offset + length <= version.size
  // The object's layout, if its version has a revision. Null if nobody can tell
  // whether the layout is the same when the ctime alone has changed.
  std::shared_ptr<const ObjectLayout> layout;
  // Whether the bytes must come from where they lie. No cache has a part in it.
  bool uncached = false;
  // The caller has the bytes of that revision: while the object still has it,
  // the result has no bytes. A source that cannot tell gives all bytes.
  std::optional<Revision> unless;
  ReadPurpose purpose;
  SampleRef sample;
  // The samples that are wanted soon after this one, which a cache may read
  // with it. Null if unknown.
  std::shared_ptr<const ReadAheadHints> read_ahead_hints;
  // Whether some of them are due now, even if this sample is cached.
  bool neighbours_due = false;
  // The variant that the caller prefers if a cache has it; kEncoded if it takes
  // no other.
  Variant variant = kEncoded;
  // Names the read for Share: unlike that of any other read in flight. 0 if the
  // caller never shares it.
  std::uint64_t ticket = 0;
  // Gets all `length` bytes or an error.
  ReadDone done;
};

// Reads bytes of objects. Decorators (cache, scheduler, retries, faults) are
// ByteSources too. Thread-safe. The caller owns the source; its destruction
// completes the reads in flight first. Read does not block. Errors (through
// `done`; each names the object and the reason): NOT_FOUND (deleted),
// FAILED_PRECONDITION (not the version asked for), ABORTED (it is, but for its
// ctime, which the version tells), PERMISSION_DENIED, INVALID_ARGUMENT (not a
// regular file, range outside the object), UNAVAILABLE (a passing fault),
// DATA_LOSS (shorter than it says).
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Starts all reads; takes the requests' contents.
  virtual void Read(absl::Span<ReadRequest> requests) = 0;

  // Adds a reader to the read that `ticket` names. A source that shares out its
  // resource charges the read to both, and gives it the more urgent one's
  // place. Ignores a read that is done, or not known.
  virtual void Share(std::uint64_t ticket, const ReadPurpose& purpose);
};

inline void ByteSource::Share(std::uint64_t, const ReadPurpose&) {}

// The layout of an object, as an index has it. Tells whether it is the same
// after the object's ctime alone has changed, as by chmod, by a further hard
// link, or by a writer that sets the mtime back.
//
// Thread-safe and immutable; its readers share it. LookAgain does not block.
class ObjectLayout {
 public:
  virtual ~ObjectLayout() = default;

  // Reads a part of an object. Returns whether it could.
  using ReadPart =
      std::function<bool(std::uint64_t offset, absl::Span<std::uint8_t> bytes)>;
  // Finds the mark that an object has now, by reads of small parts. Nothing if
  // one of them failed, or it is not there.
  //
  // If a version has a mark, sources of local files give bytes only if the file
  // has that mark after they were read. Else it is FAILED_PRECONDITION. The
  // versions of other sources have none.
  virtual std::optional<std::uint64_t> FindMark(const ReadPart&) const {
    return std::nullopt;
  }

  // Reads the layout again through `source`, after `read` has failed for such a
  // change: one read at a time, each with the ticket of `read`, which is not in
  // flight meanwhile. Calls `done` once, on any thread, perhaps before it
  // returns, with the revision that has the same layout. Errors:
  // FAILED_PRECONDITION (no revision has it), and those of the source.
  virtual void LookAgain(
      const ReadRequest& read, ByteSource& source,
      std::function<void(absl::StatusOr<Revision>)> done) const = 0;
};

// Returns the most memory that a source holds for a read of `length` bytes,
// until the last copy of its Bytes is gone: buffers come in sizes.
constexpr std::uint64_t HeldBytes(std::uint64_t length) {
  return length + length / 4 + 4096;
}

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_BYTE_SOURCE_H_

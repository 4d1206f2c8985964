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
// does: one that was renamed to it has another inode, one that was written over
// another ctime. What is 0 is not told, and anything agrees with it.
struct Revision {
  std::uint64_t inode = 0;
  std::int64_t ctime_nanos = 0;

  bool operator==(const Revision&) const = default;
};

// What an object must still be when it is read.
struct ObjectVersion {
  std::uint64_t size = 0;  // bytes
  std::int64_t stamp =
      0;  // a file's mtime in nanoseconds; a cloud object's generation
  // Only where it matters which file it is: of a shard, whose index says what
  // lies where. Never a part of what states and ranks compare.
  Revision revision = {};

  bool operator==(const ObjectVersion&) const = default;
};

// The place below which a dataset's objects are named: a directory that a
// client opened, a bucket. Immutable, thread-safe, shared by all who read from
// it.
class Root {
 public:
  virtual ~Root() = default;
  // For people.
  virtual const std::string& uri() const = 0;
  // Equal for two roots only if an object's name and version mean the same
  // bytes below both, and who may read through one may read through the other:
  // then they share what is cached. Null: nothing that is read through this
  // root is kept.
  virtual std::shared_ptr<const std::string> identity() const;
  // Whether it can be told at once that the object is that version still, of
  // that very revision: only then is what was kept of it given out unasked.
  // Else the source is asked (ReadRequest::unless). True where a version's
  // bytes are the same for ever, as those of a bucket's generation are.
  virtual bool StillHas(const std::string& object,
                        const ObjectVersion& version) const;
  // The same, but it says so for good: also when the daemon, or the host, was
  // started again. Null: nothing that is read through this root is kept on a
  // disk of this host, for want of such a name, or because it would be no
  // nearer there.
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

// For whom and how soon, so that schedulers and caches below can choose.
struct ReadPurpose {
  std::uint64_t job = 0;
  std::uint64_t urgency = 0;  // smaller is sooner; nanoseconds, by guess
  std::int64_t next_use_nanos =
      INT64_MAX;  // from now until the bytes are wanted again
  // All who pay for it, in equal parts; null: `job` alone.
  std::shared_ptr<const std::vector<std::uint64_t>> payers = nullptr;
};

// At least one, none of them twice.
inline absl::Span<const std::uint64_t> PayersOf(const ReadPurpose& purpose) {
  if (purpose.payers == nullptr) return {&purpose.job, 1};
  return *purpose.payers;
}

// Which sample of which dataset the bytes are, for who can tell when a sample
// is wanted again.
struct SampleRef {
  std::uint64_t dataset = 0;  // a number that its readers agree on; 0: none
  std::uint64_t sample = 0;
};

// What gave the bytes of a read.
enum class Origin : std::uint8_t {
  kSource,  // where they lie
  kCached,  // a cache on the way there
};

// What bytes were made into before they were kept, such as an image's pixels:
// kEncoded, or a number that readers agree on.
using Variant = std::uint64_t;
inline constexpr Variant kEncoded = 0;  // the bytes themselves

// What a read gives.
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
  // What lies where in the object, where its version has a revision. Null:
  // nobody can say whether that is still so when its ctime alone has changed.
  std::shared_ptr<const ObjectLayout> layout;
  // Bytes of that revision are at hand: while the object still has it, the
  // answer is no bytes. A source that cannot tell gives all.
  std::optional<Revision> unless;
  ReadPurpose purpose;
  SampleRef sample;
  // Who is wanted soon after the sample, for whoever keeps bytes: these may
  // then be read with it. Null: nobody knows.
  std::shared_ptr<const ReadAheadHints> read_ahead_hints;
  // Whether some are due now, also where the sample's own bytes are there.
  bool neighbours_due = false;
  // Another variant that does as well, and is preferred where a cache has it;
  // kEncoded: none does.
  Variant variant = kEncoded;
  // Names the read for Share, if the caller wants to: unlike any other's that
  // is under way.
  std::uint64_t ticket = 0;
  // Gets all `length` bytes or an error.
  ReadDone done;
};

// Where bytes come from. Decorators (cache, scheduler, retries, faults) are
// ByteSources too. Thread-safe. The caller owns the source; destroying it
// completes what is under way first. Read does not block. Errors (through
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

  // One more reader waits for the read that `ticket` names: a source that
  // shares out what it has charges it to both, and gives it the more urgent
  // one's place. Of a read that is done, or not known, it takes no notice.
  virtual void Share(std::uint64_t ticket, const ReadPurpose& purpose);
};

inline void ByteSource::Share(std::uint64_t, const ReadPurpose&) {}

// What lies where in an object, as an index has it: says whether it is so still
// where the object's ctime alone has changed, as chmod and a further hard link
// change it, and a writer who sets the mtime back.
//
// Immutable and thread-safe; shared by who reads. LookAgain does not block.
class ObjectLayout {
 public:
  virtual ~ObjectLayout() = default;

  // Looks through `source` at what `read` could not read for that, one read at
  // a time, each with the ticket of `read`, which is not under way meanwhile.
  // Calls `done` once, on any thread, perhaps before it returns: with the
  // revision that has the same layout, which it is to be read by.
  // FAILED_PRECONDITION: there is none; others: those of the source.
  virtual void LookAgain(
      const ReadRequest& read, ByteSource& source,
      std::function<void(absl::StatusOr<Revision>)> done) const = 0;
};

// The most that a source holds for a read of so many bytes, until the last
// copy of its Bytes is gone: buffers come in sizes.
constexpr std::uint64_t HeldBytes(std::uint64_t length) {
  return length + length / 4 + 4096;
}

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_BYTE_SOURCE_H_

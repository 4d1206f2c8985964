#ifndef FOREBAY_SERVER_FETCH_OBJECT_READER_H_
#define FOREBAY_SERVER_FETCH_OBJECT_READER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/fd.h"
#include "server/base/memory_budget.h"
#include "server/schedule/flow.h"
#include "server/slots/shared_memory.h"
#include "server/storage/byte_source.h"

namespace forebay::fetch {

// Finds the present version of an object. May block, but not for long once
// `stop` is requested.
using FindVersion = std::function<absl::StatusOr<storage::ObjectVersion>(
    const storage::Root& root, const std::string& object,
    const std::stop_token& stop)>;

// The collaborators that all readers of objects share. They outlive every
// reader.
struct ObjectDeps {
  storage::ByteSource* source = nullptr;
  base::MemoryBudget* budget = nullptr;
  FindVersion find_version;
};

// The bytes of an object that a client asks for. All numbers are untrusted.
struct ObjectRange {
  std::shared_ptr<const storage::Root> root;
  std::string object;
  // The version that the object must still have. If unset, the object's present
  // version is read as a whole, and `offset` must be 0. If the object has more
  // than `length` bytes, only its version is returned.
  std::optional<storage::ObjectVersion> version;
  std::uint64_t offset = 0;  // in bytes; a multiple of block_bytes
  // Number of bytes: a multiple of block_bytes, unless the range ends at the
  // object's end.
  std::uint64_t length = 0;
  std::uint64_t block_bytes = 0;  // bytes of each read, and of each cached part
};

// The result of a read. The bytes lie at the window's start.
struct ObjectRead {
  storage::ObjectVersion version;
  std::uint64_t bytes = 0;  // number of bytes read
  // The descriptor of the window, if the client does not have it yet.
  base::Fd window;
  std::uint64_t window_bytes = 0;  // size of that window
};

// Reads ranges of objects for one client, through the same source as streams.
// The bytes go into the reader's window: shared memory that the reader owns,
// and that grows if a range needs more.
//
// Used by one thread at a time. Owned by the session; the objects in ObjectDeps
// outlive the reader. Read blocks until the bytes are in the window, but not
// for long once `stop` is requested. Errors name root and object.
// INVALID_ARGUMENT: the range is invalid, or the object is not a regular file.
// FAILED_PRECONDITION: the object no longer has the version that was asked for,
// or is gone. RESOURCE_EXHAUSTED: there is no memory for so many bytes at once.
// CANCELLED: the read was stopped. Other errors are those of the source and of
// `find_version`.
class ObjectReader {
 public:
  // The fewest bytes of a block, and the most bytes of a read.
  static constexpr std::uint64_t kMinBlock = std::uint64_t{64} << 10;
  static constexpr std::uint64_t kMaxLength = std::uint64_t{16} << 20;

  // Reads on behalf of the job `flow`.
  ObjectReader(ObjectDeps deps, schedule::Flow flow)
      : deps_(std::move(deps)), flow_(flow) {}

  // Reads a range, whose bytes stay in the window until the next Read.
  absl::StatusOr<ObjectRead> Read(const ObjectRange& range,
                                  const std::stop_token& stop);

 private:
  // Reads the present version of an object. Tries again if the object changes
  // meanwhile.
  absl::StatusOr<ObjectRead> ReadAsItIs(const ObjectRange& range,
                                        const std::stop_token& stop);
  // Reads a range of the object's version `version`.
  absl::StatusOr<ObjectRead> ReadVersion(const ObjectRange& range,
                                         const storage::ObjectVersion& version,
                                         const std::stop_token& stop);
  // Makes a window of at least `bytes` bytes, unless the present window is
  // large enough.
  absl::Status MakeWindow(std::uint64_t bytes);

  const ObjectDeps deps_;
  const schedule::Flow flow_;
  base::MemoryReservation reservation_;  // memory of the window
  std::optional<slots::SharedMemory> window_;
  // Whether the client has the window's descriptor.
  bool window_is_known_ = false;
};

}  // namespace forebay::fetch

#endif  // FOREBAY_SERVER_FETCH_OBJECT_READER_H_

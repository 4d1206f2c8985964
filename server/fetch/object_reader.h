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
#include "server/arena/shared_memory.h"
#include "server/base/fd.h"
#include "server/base/memory_budget.h"
#include "server/schedule/flow.h"
#include "server/storage/byte_source.h"

namespace forebay::fetch {

// Finds the version that an object has at present. May block.
using FindVersion = std::function<absl::StatusOr<storage::ObjectVersion>(
    const storage::Root& root, const std::string& object,
    const std::stop_token& stop)>;

// The collaborators that all readers of objects share; outlive them all.
struct ObjectDeps {
  storage::ByteSource* source = nullptr;
  base::MemoryBudget* budget = nullptr;
  FindVersion find_version;
};

// The bytes of an object that a client asks for: any numbers.
struct ObjectRange {
  std::shared_ptr<const storage::Root> root;
  std::string object;
  // The version that it must still have. Nullopt: as it is at present. It is
  // then read only if it has no more than `length` bytes, from offset 0 on.
  std::optional<storage::ObjectVersion> version;
  std::uint64_t offset = 0;       // bytes; where a block begins
  std::uint64_t length = 0;       // bytes; whole blocks, but for the last one
  std::uint64_t block_bytes = 0;  // by which it is read and cached
};

// The result of a read; the bytes lie at the window's begin.
struct ObjectRead {
  storage::ObjectVersion version;
  std::uint64_t bytes = 0;
  base::Fd window;  // a new one's; invalid if it is still the one before
  std::uint64_t window_bytes = 0;
};

// Reads ranges of objects for one client, through the same source as streams,
// into shared memory that it owns, its window. That grows as ranges need it.
//
// Used by one thread at a time. Owned by the session; all of the deps outlive
// it. Read blocks until the bytes are there, but not for long once `stop` is
// requested. Errors, which name root and object: INVALID_ARGUMENT, no such
// range, or no regular file; FAILED_PRECONDITION, it has changed or is gone
// since it had that version; RESOURCE_EXHAUSTED, no memory for so much at once;
// CANCELLED, stopped; else those of the source and of `find_version`.
class ObjectReader {
 public:
  static constexpr std::uint64_t kMinBlock = std::uint64_t{64} << 10;
  static constexpr std::uint64_t kMaxLength = std::uint64_t{16} << 20;

  ObjectReader(ObjectDeps deps, schedule::Flow flow)
      : deps_(std::move(deps)), flow_(flow) {}

  absl::StatusOr<ObjectRead> Read(const ObjectRange& range,
                                  const std::stop_token& stop);

 private:
  absl::StatusOr<ObjectRead> ReadAsItIs(const ObjectRange& range,
                                        const std::stop_token& stop);
  absl::StatusOr<ObjectRead> ReadVersion(const ObjectRange& range,
                                         const storage::ObjectVersion& version,
                                         const std::stop_token& stop);
  absl::Status MakeWindow(std::uint64_t bytes);

  const ObjectDeps deps_;
  const schedule::Flow flow_;
  base::MemoryReservation reservation_;  // the window's
  std::optional<arena::SharedMemory> window_;
  // Whether the client has its descriptor.
  bool window_is_known_ = false;
};

}  // namespace forebay::fetch

#endif  // FOREBAY_SERVER_FETCH_OBJECT_READER_H_

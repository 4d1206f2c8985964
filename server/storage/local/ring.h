#ifndef FOREBAY_SERVER_STORAGE_LOCAL_RING_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_RING_H_

#include <liburing.h>
#include <linux/openat2.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace forebay::storage::local {

// A ring of the kernel's io_uring, with the operations that reading files
// takes. The caller prepares operations one by one, and submits them together.
//
// Enable, and all calls after it, belong to one thread; any thread may destroy
// the ring when that one is done. The caller has no more operations in flight
// than the ring was made for. It keeps buffers and descriptors until their
// operations complete, and paths until the Submit. Only Submit blocks. Errors:
// UNAVAILABLE (no ring may be made here, or this kernel's lacks an operation),
// in one sentence.
class Ring {
 public:
  // Makes a ring for `entries` operations at once. Call Enable next.
  static absl::StatusOr<std::unique_ptr<Ring>> Create(unsigned entries);

  // Returns whether a ring works here: makes one, and has it do nothing once.
  static absl::Status Probe();

  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Makes the calling thread the ring's one thread.
  absl::Status Enable();

  // Completes with the descriptor. `how` is copied by the Submit.
  void Open(std::uint64_t id, int directory, const char* path,
            const open_how* how);
  // A descriptor, or the number of a registered file.
  struct File {
    int number = -1;
    bool registered = false;
  };

  // Completes with the number of bytes read, at most `length`. An eventfd has
  // no `offset`.
  void Read(std::uint64_t id, File file, void* buffer, std::size_t length,
            std::uint64_t offset);

  // Like Read, into registered memory.
  void ReadFixed(std::uint64_t id, File file, void* buffer, std::size_t length,
                 std::uint64_t offset);

  // Makes room for `count` registered files, numbered from 0: the kernel need
  // not look them up at each read. Returns how many, or 0 if it cannot do so.
  // Call it once at most.
  std::size_t ReserveFiles(std::size_t count);
  // Returns whether `number` now stands for the file.
  bool RegisterFile(unsigned number, int file);
  // Reads that were submitted still complete.
  void UnregisterFile(unsigned number);

  // Registers as much of the memory, from its begin, as the limit of locked
  // memory permits, and returns how much. The kernel pins it once, instead of
  // at each read past the page cache. Call it once at most. The memory outlives
  // the ring.
  std::size_t Register(absl::Span<std::uint8_t> memory);

  // Hands the prepared operations to the kernel; waits for a completion if
  // `wait`.
  void Submit(bool wait);

  // Calls `take(id, result)` for all completions; a result below 0 is minus
  // errno. `take` may prepare operations.
  template <typename Take>
  void TakeCompletions(Take take) {
    io_uring_cqe* completion = nullptr;
    while (io_uring_peek_cqe(&ring_, &completion) == 0) {
      const std::uint64_t id = completion->user_data;
      const int result = completion->res;
      io_uring_cqe_seen(&ring_, completion);
      take(id, result);
    }
  }

 private:
  Ring() = default;

  io_uring_sqe* Next();
  static void Finish(io_uring_sqe* entry, std::uint64_t id, File file);

  io_uring ring_ = {};
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_RING_H_

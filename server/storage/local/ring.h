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
// needs. The caller prepares operations one by one, and submits them together.
//
// Enable, and all calls after it, belong to one thread; once that thread is
// done, any thread may destroy the ring. The caller has at most as many
// operations in flight as the ring was made for. The caller keeps buffers and
// descriptors until their operations complete, and paths until Submit has
// returned. Only Submit blocks. Errors: UNAVAILABLE, in one sentence, if no
// ring may be made here, or if the kernel's io_uring lacks an operation.
class Ring {
 public:
  // Makes a ring for `entries` operations at once. The caller calls Enable
  // next.
  static absl::StatusOr<std::unique_ptr<Ring>> Create(unsigned entries);

  // Returns OK if a ring works here: makes a ring, and submits an operation
  // that does nothing.
  static absl::Status Probe();

  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Makes the calling thread the ring's only thread.
  absl::Status Enable();

  // Prepares the open of a file, which completes with the descriptor. Submit
  // copies `how`.
  void Open(std::uint64_t id, int directory, const char* path,
            const open_how* how);
  // A descriptor, or the number of a registered file.
  struct File {
    int number = -1;
    bool registered = false;
  };

  // Prepares a read, which completes with the number of bytes read, at most
  // `length`. The `offset` does not matter for an eventfd.
  void Read(std::uint64_t id, File file, void* buffer, std::size_t length,
            std::uint64_t offset);

  // Prepares a read into registered memory, as Read does.
  void ReadFixed(std::uint64_t id, File file, void* buffer, std::size_t length,
                 std::uint64_t offset);

  // Reserves `count` numbers, from 0 on, for registered files: the kernel need
  // not look these up at each read. Returns how many it reserved; 0 if the
  // kernel cannot do so. May be called once.
  std::size_t ReserveFiles(std::size_t count);
  // Registers the file under `number`. Returns whether that worked.
  bool RegisterFile(unsigned number, int file);
  // Frees a number. Reads that were submitted with it still complete.
  void UnregisterFile(unsigned number);

  // Registers as much of the memory, from its beginning, as the limit of locked
  // memory permits, and returns how many bytes. The kernel then pins this
  // memory once, instead of at each read past the page cache. May be called
  // once. The memory outlives the ring.
  std::size_t Register(absl::Span<std::uint8_t> memory);

  // Hands the prepared operations to the kernel. If `wait` is true, waits for a
  // completion.
  void Submit(bool wait);

  // Calls `take(id, result)` for all completions. A result below 0 is minus
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

  // Returns the next free entry of the submission queue.
  io_uring_sqe* Next();
  // Sets the id and the file's kind in a prepared entry.
  static void Finish(io_uring_sqe* entry, std::uint64_t id, File file);

  io_uring ring_ = {};
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_RING_H_

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
// takes. Operations are prepared one by one, and submitted together.
//
// Enable, and all calls from then on, belong to one thread; destruction may
// come from any thread when that one is done. The caller sees to it that no
// more operations are under way than the ring was made for, and keeps what they
// refer to until they complete: buffers, descriptors, and until the Submit also
// paths. Only Submit blocks. Errors: UNAVAILABLE (no ring may be made here, or
// this kernel's lacks an operation), in one sentence.
class Ring {
 public:
  // `entries` operations at once. Enable comes next.
  static absl::StatusOr<std::unique_ptr<Ring>> Create(unsigned entries);

  // Whether a ring works here: makes one, and has it do nothing once.
  static absl::Status Probe();

  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Says that the thread that calls is the one.
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

  // The same, into registered memory.
  void ReadFixed(std::uint64_t id, File file, void* buffer, std::size_t length,
                 std::uint64_t offset);

  // Makes room for so many registered files, numbered from 0: the kernel need
  // not look them up at each read. How many; 0 where it cannot do so. Once at
  // most.
  std::size_t ReserveFiles(std::size_t count);
  // Whether `number` now stands for the file.
  bool RegisterFile(unsigned number, int file);
  // Reads that were submitted are completed.
  void UnregisterFile(unsigned number);

  // Registers as much of the memory, from its begin, as the limit of locked
  // memory permits: the kernel pins it now, once, instead of at each read past
  // the page cache. How much that is; once at most. The memory stays until the
  // ring is gone.
  std::size_t Register(absl::Span<std::uint8_t> memory);

  // Hands what was prepared to the kernel, and waits for a completion if
  // `wait`.
  void Submit(bool wait);

  // Hands over all completions there are: `take(id, result)`, where a result
  // below 0 is minus errno. `take` may prepare operations.
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

#ifndef FOREBAY_PROTO_WORKER_SOCKET_H_
#define FOREBAY_PROTO_WORKER_SOCKET_H_

// The protocol between the daemon and the processes that run the user's own
// code: the daemon's tasks, and the processes' answers. Each process has a
// socket of its own (SOCK_SEQPACKET). A datagram is a message of at most
// kMaxWorkerMessage bytes. The daemon sends the next task only when the process
// has answered the last one. A stopped process does not answer.
//
// A worker pool is a process that forks workers. The pool maps each slot for
// writing before the slot is sealed against new writable mappings. Only workers
// that the pool forks afterwards can therefore write there. A worker makes
// samples in slots. All slots that a worker's task does not name are read-only
// in that worker. This only guards against mistakes of the user's code; nothing
// relies on it. A process ends when its socket is closed. The workers of a pool
// end with the pool.

#include <cstddef>
#include <cstdint>

namespace forebay::proto {

inline constexpr std::size_t kMaxWorkerMessage = 64 * 1024;
inline constexpr std::uint32_t kMaxWorkers = 256;  // workers of one worker pool
inline constexpr std::uint32_t kMaxProducedSamples = 256;
inline constexpr std::uint32_t kMaxWorkerError = 1900;  // bytes of a text

enum class WorkerCommand : std::uint32_t {
  // Asks a worker pool to map a slot under number `slot`. The descriptor stands
  // for the slot's memory, or for the memory in which the slot's device part is
  // made. The pool maps it shared and writable.
  //
  // The task is followed by `count` offsets of 64 bits. If workers make
  // samples, these are the offsets of the fields, each in the part of the slot
  // that has the field. If workers run user code of a pipeline, there are four
  // numbers. The first is the offset of the input of sample 0, and the second
  // is the distance from there to the input of sample 1. The third and the
  // fourth are the same for the results. An input is a raw image (raw_image.h)
  // of uint8; a result has no header.
  //
  // The answer comes with a pidfd of the pool. Without one, the daemon cannot
  // kill the pool.
  kMapSlot = 1,
  // Asks a worker pool to unmap the memory that is mapped under number `slot`.
  kUnmapSlot = 2,
  // Asks a worker pool to fork worker number `slot`. The descriptor is the
  // worker's socket. The answer comes with a pidfd of the worker. Without one,
  // the worker's memory has no limit.
  kFork = 3,
  // Asks a worker to make samples. The task is followed by `count`
  // ProducedSample.
  kMake = 4,
  // Asks a worker to make samples for loaders on GPUs. The task is followed by
  // `count` ProducedOnDevice.
  kMakeOnDevice = 5,
  // Asks a worker pool to answer, and to do nothing else. Pools treat commands
  // that they do not know in the same way.
  kPing = 6,
};

// A message of the daemon.
struct WorkerTask {
  WorkerCommand command;
  std::uint32_t slot;   // the slot's number in the pool; for kFork, the
                        // worker's number
  std::uint64_t bytes;  // the slot's size
  std::uint64_t epoch;
  std::uint32_t count;
  std::uint32_t reserved;
};
static_assert(sizeof(WorkerTask) == 32);

// A sample to be made, and its place in a batch.
struct ProducedSample {
  std::uint64_t id;
  // The seed of all random numbers that the user's code draws for the sample.
  std::uint64_t seed;
  std::uint32_t slot;  // a number of kMapSlot
  std::uint32_t row;   // row of the batch in the slot
};
static_assert(sizeof(ProducedSample) == 24);

// A sample to be made for a loader on a GPU.
struct ProducedOnDevice {
  ProducedSample sample;
  std::uint32_t device;  // the number of the memory for the device part
  std::uint32_t reserved;
};
static_assert(sizeof(ProducedOnDevice) == 32);

// The answer to a task. The answer is followed by a WorkerFailure and its text
// for each sample that failed. An answer of a pool has at most one failure,
// which says why the pool cannot do the task.
struct WorkerAnswer {
  std::uint64_t cpu_nanos;  // CPU time that the process spent on the task
  std::uint32_t failures;
  std::uint32_t reserved;
};
static_assert(sizeof(WorkerAnswer) == 16);

// A sample that could not be made.
struct WorkerFailure {
  std::uint32_t index;  // index among the task's samples
  std::uint32_t bytes;  // bytes of the text, at most kMaxWorkerError
};
static_assert(sizeof(WorkerFailure) == 8);

}  // namespace forebay::proto

#endif  // FOREBAY_PROTO_WORKER_SOCKET_H_

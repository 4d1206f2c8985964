#ifndef FOREBAY_PROTO_PRODUCER_SOCKET_H_
#define FOREBAY_PROTO_PRODUCER_SOCKET_H_

// Between the daemon and the processes that make samples by the user's own
// code: its tasks, and their answers. Each process has a socket of its own
// (SOCK_SEQPACKET); one datagram is one message, at most kMaxProducerMessage
// long. The daemon asks, and asks no more until the process has answered. That
// may take as long as the process is stopped.
//
// A producer host forks producers. It maps each slot for writing before the
// slot is sealed against new mappings like that, so only those that it forks
// afterwards can write there. A producer makes samples in slots. It keeps those
// that its task does not name read-only, against mistakes of the user's code;
// nothing relies on it. When a socket ends, so does the process behind it; when
// a host does, so do its producers.

#include <cstddef>
#include <cstdint>

namespace forebay::proto {

inline constexpr std::size_t kMaxProducerMessage = 64 * 1024;
inline constexpr std::uint32_t kMaxProducers = 256;  // of one host
inline constexpr std::uint32_t kMaxProducedSamples = 256;
inline constexpr std::uint32_t kMaxProducerError = 1900;  // bytes of a text

enum class ProducerCommand : std::uint32_t {
  // To hosts. Descriptor: the slot's memfd, to be mapped shared, so that it can
  // be written. Or that of the memory in which a slot's device part is made.
  // Behind the task: `count` offsets, 64 bits each. If producers make samples:
  // of their fields, each in the part of the slot where it lies. If they run
  // the user's code in a pipeline: where sample 0 has its input, how far behind
  // that sample 1 has, and likewise for the result. An input is a raw image
  // (raw_image.h) of uint8; a result has no header. With the answer comes a
  // pidfd of the host; without one, the daemon cannot kill it.
  kMapSlot = 1,
  // To hosts: what was mapped under that number goes.
  kUnmapSlot = 2,
  // To hosts: fork producer number `slot`. Descriptor: its socket. With the
  // answer comes a pidfd of the producer; without one, its memory has no limit.
  kFork = 3,
  // To producers. Behind the task: `count` ProducedSample.
  kMake = 4,
  // As kMake, for loaders on GPUs: `count` ProducedOnDevice.
  kMakeOnDevice = 5,
  // To hosts: answer, and do nothing else. So do hosts with all commands that
  // they do not know.
  kPing = 6,
};

struct ProducerTask {
  ProducerCommand command;
  std::uint32_t slot;   // its number among those that the host has mapped
  std::uint64_t bytes;  // of the slot
  std::uint64_t epoch;
  std::uint32_t count;
  std::uint32_t reserved;
};
static_assert(sizeof(ProducerTask) == 32);

// A sample to be made.
struct ProducedSample {
  std::uint64_t id;
  // Keys all that the user's code draws at random for it.
  std::uint64_t seed;
  std::uint32_t slot;
  std::uint32_t row;
};
static_assert(sizeof(ProducedSample) == 24);

struct ProducedOnDevice {
  ProducedSample sample;
  std::uint32_t device;  // what the device part is made in, as `slot`
  std::uint32_t reserved;
};
static_assert(sizeof(ProducedOnDevice) == 32);

// Behind it: for each of the samples that failed, a ProducerFailure and its
// text. A host has no samples; a text of its own says why it cannot.
struct ProducerAnswer {
  std::uint64_t cpu_nanos;  // that the process spent on the task
  std::uint32_t failures;
  std::uint32_t reserved;
};
static_assert(sizeof(ProducerAnswer) == 16);

struct ProducerFailure {
  std::uint32_t index;  // among the task's samples
  std::uint32_t bytes;  // of the text, at most kMaxProducerError
};
static_assert(sizeof(ProducerFailure) == 8);

}  // namespace forebay::proto

#endif  // FOREBAY_PROTO_PRODUCER_SOCKET_H_

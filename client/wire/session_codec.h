#ifndef FOREBAY_CLIENT_WIRE_SESSION_CODEC_H_
#define FOREBAY_CLIENT_WIRE_SESSION_CODEC_H_

// Writes and reads the messages of proto/session.proto by protozero, as the
// library does not link protobuf. All functions are thread-safe, and none
// blocks. The structs have the fields that the client uses; proto/session.proto
// says what they mean.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "client/base/status.h"
#include "client/wire/object_codec.h"
#include "client/wire/order_codec.h"
#include "client/wire/placement_codec.h"

namespace forebay::client::wire {

// The functions whose names begin with Encode return a serialized
// proto.ClientMessage for a request.
std::string EncodeHello(std::uint64_t request_id, std::string_view job_key,
                        std::string_view job_name, double weight);
// Encodes the opening of a loader. `spec`: a serialized proto.LoaderSpec; empty
// if it travels in a memfd.
std::string EncodeOpenLoader(std::uint64_t request_id, std::string_view spec);
// Encodes the start of an epoch. `listed`: whether a list of samples travels in
// a memfd.
std::string EncodeStartEpoch(std::uint64_t request_id, std::uint64_t loader_id,
                             std::uint64_t epoch, std::uint64_t first_sample,
                             bool listed);
std::string EncodeOpenReader(std::uint64_t request_id, std::string_view spec,
                             bool decode);
std::string EncodeFetch(std::uint64_t request_id, std::uint64_t reader_id,
                        const std::int64_t* samples, size_t count);
// Encodes a read of an object. `range`: a serialized proto.ReadObject.
std::string EncodeReadObject(std::uint64_t request_id, std::string_view range);
std::string EncodeStopEpoch(std::uint64_t request_id, std::uint64_t loader_id);
std::string EncodeCloseLoader(std::uint64_t request_id,
                              std::uint64_t loader_id);
std::string EncodeGetStats(std::uint64_t request_id, std::uint64_t loader_id);
// Encodes the request for slots from number `first` on, which is the number of
// slots that the client knows.
std::string EncodeGetSlots(std::uint64_t request_id, std::uint64_t loader_id,
                           std::uint32_t first);

// Encodes the request for the socket of a worker host with `workers` workers.
// `are_persistent`: whether they keep their state between epochs.
std::string EncodeStartWorkers(std::uint64_t request_id,
                               std::uint64_t loader_id, std::uint32_t workers,
                               bool are_persistent);

// Encodes the drawing of an order. `part`: a serialized proto.DrawOrder.
std::string EncodeDrawOrder(std::uint64_t request_id, std::string_view part);

// The answer to any request that the daemon refuses.
struct ErrorAnswer {
  std::uint32_t code = 0;  // an absl::StatusCode
  std::string message;     // one sentence for people
};

// The answer to a hello.
struct Welcome {
  std::uint32_t protocol_version = 0;  // must be proto::kProtocolVersion
  std::string daemon_version;          // for people
  std::uint64_t session_id = 0;
};

struct LoaderOpened {
  std::uint64_t loader_id = 0;
  std::uint64_t dataset_size = 0;       // samples
  std::uint64_t samples_per_epoch = 0;  // this rank's
  std::uint64_t batches_per_epoch = 0;  // this rank's
  std::array<std::uint8_t, 16> dataset_version{};
  std::vector<std::string> classes;  // names in the order of labels
  bool classes_in_memfd = false;     // `classes` is empty, and a memfd came
  std::uint64_t slot_bytes = 0;      // bytes of a batch's slot
  bool has_placement = false;        // false: the daemon does not know of GPUs
  LoaderPlacement placement;
};

struct EpochStarted {
  std::uint64_t slot_count = 0;   // slots whose descriptors came
  std::uint64_t slot_bytes = 0;   // bytes of a slot
  std::uint64_t lease_quota = 0;  // batches that the client may hold at once
};

struct EpochStopped {
  std::uint64_t published = 0;  // entries that the ready ring has ever had
};

struct LoaderClosed {
  std::uint64_t published = 0;  // entries that the ready ring has ever had
};

struct Stats {
  std::uint64_t samples_delivered = 0;
  std::uint64_t batches_delivered = 0;
  std::uint64_t bytes_delivered = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t samples_decoded = 0;
  std::uint64_t samples_substituted = 0;
  std::uint64_t cpu_nanos = 0;
};

// The answer to a request for slots, whose descriptors come with it.
struct Slots {};

// The answer to a request for workers. The worker host's socket comes with it.
struct WorkersStarted {};

struct ReaderOpened {
  std::uint64_t reader_id = 0;
  std::uint64_t dataset_size = 0;
  std::array<std::uint8_t, 16> dataset_version{};
  std::vector<std::string> classes;
  bool classes_in_memfd = false;
  std::vector<std::string> fields;
  std::vector<std::string> warnings;
};

// The answer to a fetch of samples, which lie in the reader's window.
struct Fetched {
  // Bytes of a new window, whose memfd comes with the answer; 0: the window is
  // the same as before.
  std::uint64_t window_bytes = 0;
  bool has_failure = false;  // whether a sample failed
  ErrorAnswer failure;       // the error of the first sample that failed
};

struct Answer {
  std::uint64_t request_id = 0;  // 0: an error that answers no request
  // The answer itself; monostate if this version does not know its kind.
  std::variant<std::monostate, ErrorAnswer, Welcome, LoaderOpened, EpochStarted,
               EpochStopped, LoaderClosed, Stats, Slots, ReaderOpened, Fetched,
               WorkersStarted, ObjectRead, OrderDrawn>
      kind;
};

// Reads a serialized proto.DaemonMessage. FOREBAY_INTERNAL if it is not one.
Status DecodeAnswer(std::string_view bytes, Answer* answer);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_SESSION_CODEC_H_

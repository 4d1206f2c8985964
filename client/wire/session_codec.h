#ifndef FOREBAY_CLIENT_WIRE_SESSION_CODEC_H_
#define FOREBAY_CLIENT_WIRE_SESSION_CODEC_H_

// Writes and reads the messages of proto/session.proto without protobuf.

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

// Requests: each function returns a serialized proto.ClientMessage.
std::string EncodeHello(std::uint64_t request_id, std::string_view job_key,
                        std::string_view job_name, double weight);
// `spec`: a serialized proto.LoaderSpec; empty if it travels in a memfd.
std::string EncodeOpenLoader(std::uint64_t request_id, std::string_view spec);
// `listed`: whether a list of the epoch's samples travels in a memfd.
std::string EncodeStartEpoch(std::uint64_t request_id, std::uint64_t loader_id,
                             std::uint64_t epoch, std::uint64_t first_sample,
                             bool listed);
std::string EncodeOpenReader(std::uint64_t request_id, std::string_view spec,
                             bool decode);
std::string EncodeFetch(std::uint64_t request_id, std::uint64_t reader_id,
                        const std::int64_t* samples, size_t count);
// `range`: a serialized proto.ReadObject.
std::string EncodeReadObject(std::uint64_t request_id, std::string_view range);
std::string EncodeStopEpoch(std::uint64_t request_id, std::uint64_t loader_id);
std::string EncodeCloseLoader(std::uint64_t request_id,
                              std::uint64_t loader_id);
std::string EncodeGetStats(std::uint64_t request_id, std::uint64_t loader_id);
std::string EncodeGetSlots(std::uint64_t request_id, std::uint64_t loader_id,
                           std::uint32_t first);

std::string EncodeStartProducers(std::uint64_t request_id,
                                 std::uint64_t loader_id,
                                 std::uint32_t producers, bool are_persistent);

// `part`: a serialized proto.DrawOrder.
std::string EncodeDrawOrder(std::uint64_t request_id, std::string_view part);

// Answers.
struct ErrorAnswer {
  std::uint32_t code = 0;
  std::string message;
};

struct Welcome {
  std::uint32_t protocol_version = 0;
  std::string daemon_version;
  std::uint64_t session_id = 0;
};

struct LoaderOpened {
  std::uint64_t loader_id = 0;
  std::uint64_t dataset_size = 0;
  std::uint64_t samples_per_epoch = 0;
  std::uint64_t batches_per_epoch = 0;
  std::array<std::uint8_t, 16> dataset_version{};
  std::vector<std::string> classes;
  bool classes_in_memfd = false;
  std::uint64_t slot_bytes = 0;
  bool has_placement = false;
  LoaderPlacement placement;
};

struct EpochStarted {
  std::uint64_t slot_count = 0;
  std::uint64_t slot_bytes = 0;
  std::uint64_t lease_quota = 0;
};

struct EpochStopped {
  std::uint64_t published = 0;
};

struct LoaderClosed {
  std::uint64_t published = 0;
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

// Its content is descriptors.
struct Slots {};

// Its content is a descriptor.
struct ProducersStarted {};

struct ReaderOpened {
  std::uint64_t reader_id = 0;
  std::uint64_t dataset_size = 0;
  std::array<std::uint8_t, 16> dataset_version{};
  std::vector<std::string> classes;
  bool classes_in_memfd = false;
  std::vector<std::string> fields;
  std::vector<std::string> warnings;
};

struct Fetched {
  std::uint64_t window_bytes = 0;
  // Of the first sample that failed.
  bool has_failure = false;
  ErrorAnswer failure;
};

struct Answer {
  std::uint64_t request_id = 0;
  // monostate if this version does not know it.
  std::variant<std::monostate, ErrorAnswer, Welcome, LoaderOpened, EpochStarted,
               EpochStopped, LoaderClosed, Stats, Slots, ReaderOpened, Fetched,
               ProducersStarted, ObjectRead, OrderDrawn>
      kind;
};

// Reads a serialized proto.DaemonMessage. FOREBAY_INTERNAL if it is not one.
Status DecodeAnswer(std::string_view bytes, Answer* answer);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_SESSION_CODEC_H_

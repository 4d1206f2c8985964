#ifndef FOREBAY_CLIENT_SESSION_CODEC_H_
#define FOREBAY_CLIENT_SESSION_CODEC_H_

// The messages of proto/session.proto, written and read without protobuf.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "client/forebay.h"
#include "client/status.h"

namespace forebay::client {

// Requests: each function returns a serialized proto.ClientMessage.
std::string EncodeHello(std::uint64_t request_id, std::string_view job_key,
                        std::string_view job_name, double weight);
// `spec`: a serialized proto.LoaderSpec; empty: it travels in a memfd.
std::string EncodeOpenLoader(std::uint64_t request_id, std::string_view spec);
// `listed`: the list of the epoch's samples travels in a memfd.
std::string EncodeStartEpoch(std::uint64_t request_id, std::uint64_t loader_id,
                             std::uint64_t epoch, std::uint64_t first_sample,
                             bool listed);
std::string EncodeStopEpoch(std::uint64_t request_id, std::uint64_t loader_id);
std::string EncodeCloseLoader(std::uint64_t request_id,
                              std::uint64_t loader_id);
std::string EncodeGetStats(std::uint64_t request_id, std::uint64_t loader_id);

// A serialized proto.LoaderSpec, of a serialized proto.DatasetSpec and
// proto.PipelineSpec.
std::string EncodeLoaderSpec(const forebay_loader_options& options,
                             std::string_view dataset,
                             std::string_view pipeline);

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
};

struct EpochStarted {
  std::uint32_t slot_count = 0;
  std::uint64_t slot_bytes = 0;
  std::uint32_t lease_quota = 0;
};

struct EpochStopped {
  std::uint32_t published = 0;
};

struct LoaderClosed {
  std::uint32_t published = 0;
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

struct Answer {
  std::uint64_t request_id = 0;
  // monostate: none that this version knows.
  std::variant<std::monostate, ErrorAnswer, Welcome, LoaderOpened, EpochStarted,
               EpochStopped, LoaderClosed, Stats>
      kind;
};

// Reads a serialized proto.DaemonMessage. FOREBAY_INTERNAL if it is not one.
Status DecodeAnswer(std::string_view bytes, Answer* answer);

// Reads a serialized proto.ClassList. FOREBAY_INTERNAL if it is not one.
Status DecodeClassList(std::string_view bytes,
                       std::vector<std::string>* classes);

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_SESSION_CODEC_H_

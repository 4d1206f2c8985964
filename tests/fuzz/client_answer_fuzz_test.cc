// Fuzzes the answers of a daemon. The client refuses an answer, or finds in it
// the same as protobuf.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "client/wire/class_list_codec.h"
#include "client/wire/session_codec.h"
#include "proto/session.pb.h"
#include "tests/fuzz/require.h"

namespace {

using forebay::fuzz::Require;
using forebay::proto::DaemonMessage;

template <typename Kind>
const Kind* As(const forebay::client::wire::Answer& answer) {
  return std::get_if<Kind>(&answer.kind);
}

void Compare(const DaemonMessage& message,
             const forebay::client::wire::Answer& answer) {
  Require(answer.request_id == message.request_id());
  if (message.has_error()) {
    const auto* error = As<forebay::client::wire::ErrorAnswer>(answer);
    Require(error != nullptr && error->code == message.error().code() &&
            error->message == message.error().message());
  } else if (message.has_epoch_started()) {
    const auto* started = As<forebay::client::wire::EpochStarted>(answer);
    Require(started != nullptr &&
            started->slot_count == message.epoch_started().slot_count() &&
            started->slot_bytes == message.epoch_started().slot_bytes() &&
            started->lease_quota == message.epoch_started().lease_quota());
  } else if (message.has_stats()) {
    const auto* stats = As<forebay::client::wire::Stats>(answer);
    Require(stats != nullptr &&
            stats->bytes_read == message.stats().bytes_read() &&
            stats->cpu_nanos == message.stats().cpu_nanos());
  } else if (message.has_fetched()) {
    const auto* fetched = As<forebay::client::wire::Fetched>(answer);
    Require(fetched != nullptr &&
            fetched->window_bytes == message.fetched().window_bytes() &&
            fetched->has_failure == (message.fetched().failed_size() > 0));
  } else if (message.has_object_read()) {
    const auto* read = As<forebay::client::wire::ObjectRead>(answer);
    const auto& version = message.object_read().version();
    Require(read != nullptr && read->bytes == message.object_read().bytes() &&
            read->window_bytes == message.object_read().window_bytes() &&
            read->version.size == version.size() &&
            read->version.stamp == version.stamp() &&
            read->version.inode == version.inode() &&
            read->version.ctime_nanos == version.ctime_nanos());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> classes;
  static_cast<void>(forebay::client::wire::DecodeClassList(bytes, &classes));
  forebay::client::wire::Answer answer;
  if (!forebay::client::wire::DecodeAnswer(bytes, &answer).ok()) return 0;
  // protobuf writes each field once and in order. The two readers may differ in
  // what is written in another way.
  DaemonMessage message;
  if (message.ParseFromString(std::string(bytes)) &&
      message.SerializeAsString() == bytes) {
    Compare(message, answer);
  }
  return 0;
}

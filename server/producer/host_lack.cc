#include "server/producer/host_lack.h"

#include <string>

#include "absl/strings/cord.h"

namespace forebay::producer {
namespace {

constexpr char kPayload[] = "forebay/host-lack";

}  // namespace

absl::Status HostLack(std::string_view text) {
  absl::Status status = absl::ResourceExhaustedError(std::string(text));
  status.SetPayload(kPayload, absl::Cord());
  return status;
}

bool IsHostLack(const absl::Status& status) {
  return status.GetPayload(kPayload).has_value();
}

}  // namespace forebay::producer

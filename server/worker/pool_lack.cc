#include "server/worker/pool_lack.h"

#include <string>

#include "absl/strings/cord.h"

namespace forebay::worker {
namespace {

constexpr char kPayload[] = "forebay/pool-lack";

}  // namespace

absl::Status PoolLack(std::string_view text) {
  absl::Status status = absl::ResourceExhaustedError(std::string(text));
  status.SetPayload(kPayload, absl::Cord());
  return status;
}

bool IsPoolLack(const absl::Status& status) {
  return status.GetPayload(kPayload).has_value();
}

}  // namespace forebay::worker

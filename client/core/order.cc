#include "client/core/order.h"

#include <algorithm>
#include <memory>
#include <string>

#include "client/wire/daemon_socket.h"
#include "client/wire/loader_spec.h"
#include "client/wire/session.h"

namespace forebay::client::core {
namespace {

// The most samples of one request. Each sample is a varint of up to 10 bytes in
// the answer, which has at most wire::kMaxMessage bytes.
constexpr size_t kMostAtOnce = 6000;

}  // namespace

Status DrawOrder(const forebay_loader_options& options,
                 std::uint64_t dataset_size, std::uint64_t epoch,
                 std::uint64_t first, std::uint64_t* samples, size_t* count) {
  if (options.job_key == nullptr)
    return Status(FOREBAY_INVALID_ARGUMENT, "a job needs a key");
  std::unique_ptr<wire::Session> session;
  FOREBAY_CLIENT_RETURN_IF_ERROR(wire::Session::Open(
      options.runtime_dir != nullptr ? options.runtime_dir
                                     : wire::RuntimeDirectory(),
      options.job_key, options.job_name != nullptr ? options.job_name : "",
      options.weight, &session));
  const message::SamplerSpec sampler = wire::MakeSamplerSpec(options);
  size_t drawn = 0;  // the number of samples written so far
  while (drawn < *count) {
    const size_t wanted = std::min(*count - drawn, kMostAtOnce);
    wire::Reply reply;
    FOREBAY_CLIENT_RETURN_IF_ERROR(session->Call(
        message::DrawOrder{.sampler = sampler,
                           .dataset_size = dataset_size,
                           .epoch = epoch,
                           .first = first + drawn,
                           .count = static_cast<std::uint32_t>(wanted)},
        &reply));
    const auto* const order =
        std::get_if<message::OrderDrawn>(&reply.answer.kind);
    if (order == nullptr || order->samples.size() > wanted ||
        std::any_of(order->samples.begin(), order->samples.end(),
                    [&](std::uint64_t one) { return one >= dataset_size; }))
      return wire::MalformedAnswer("draw an order");
    std::copy(order->samples.begin(), order->samples.end(), samples + drawn);
    drawn += order->samples.size();
    if (order->samples.size() < wanted) break;
  }
  *count = drawn;
  return Status();
}

}  // namespace forebay::client::core

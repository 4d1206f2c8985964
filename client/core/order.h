#ifndef FOREBAY_CLIENT_CORE_ORDER_H_
#define FOREBAY_CLIENT_CORE_ORDER_H_

#include <cstddef>
#include <cstdint>

#include "client/base/status.h"
#include "client/forebay.h"

namespace forebay::client::core {

// Draws a part of an epoch's order, as forebay_draw_order says. Opens a session
// for the call; blocks until the daemon has answered, and fails as
// wire::Session does. Thread-safe.
Status DrawOrder(const forebay_loader_options& options,
                 std::uint64_t dataset_size, std::uint64_t epoch,
                 std::uint64_t first, std::uint64_t* samples, size_t* count);

}  // namespace forebay::client::core

#endif  // FOREBAY_CLIENT_CORE_ORDER_H_

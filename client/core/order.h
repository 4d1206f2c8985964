#ifndef FOREBAY_CLIENT_CORE_ORDER_H_
#define FOREBAY_CLIENT_CORE_ORDER_H_

#include <cstddef>
#include <cstdint>

#include "client/base/status.h"
#include "client/forebay.h"

namespace forebay::client::core {

// As forebay_draw_order.
Status DrawOrder(const forebay_loader_options& options,
                 std::uint64_t dataset_size, std::uint64_t epoch,
                 std::uint64_t first, std::uint64_t* samples, size_t* count);

}  // namespace forebay::client::core

#endif  // FOREBAY_CLIENT_CORE_ORDER_H_

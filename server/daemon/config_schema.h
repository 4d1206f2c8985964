#ifndef FOREBAY_SERVER_DAEMON_CONFIG_SCHEMA_H_
#define FOREBAY_SERVER_DAEMON_CONFIG_SCHEMA_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace forebay::daemon {

// The keys of config.proto, and the values that its comments allow. A key's
// name is its path, such as "memory.limit". Thread-safe; nothing blocks. The
// checks fail with INVALID_ARGUMENT, in words that continue "memory.limit ".

// Returns every table ("memory") and key ("memory.limit"), in the schema's
// order.
std::vector<std::string> ConfigKeys();

// Returns the key or table that `name` is probably meant to be, or an empty
// text if none is near.
std::string NearestConfigKey(std::string_view name);

absl::Status CheckNumber(std::string_view key, double value);
absl::Status CheckText(std::string_view key, std::string_view value);

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_CONFIG_SCHEMA_H_

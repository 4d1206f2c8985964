#ifndef FOREBAY_SERVER_DAEMON_CONFIG_SCHEMA_H_
#define FOREBAY_SERVER_DAEMON_CONFIG_SCHEMA_H_

#include <google/protobuf/descriptor.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace forebay::daemon {

// The keys of config.proto, and the values that each key may have, as the
// options of its proto field say. A key's name is its path, such as
// "memory.limit". All functions are thread-safe and never block. The checks
// fail with INVALID_ARGUMENT, whose message continues a sentence that begins
// with the key.

// Returns the names of all tables ("memory") and keys ("memory.limit"), in the
// schema's order.
std::vector<std::string> ConfigKeys();

// Returns the key or table that `name` is probably meant to be, or an empty
// text if none is near.
std::string NearestConfigKey(std::string_view name);

// Checks that a number is in the key's range.
absl::Status CheckNumber(const google::protobuf::FieldDescriptor& key,
                         double value);
// Checks that `value` contains no NUL, and is one of the words that the key
// allows or has the form that the key asks for.
absl::Status CheckText(const google::protobuf::FieldDescriptor& key,
                       std::string_view value);

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_CONFIG_SCHEMA_H_

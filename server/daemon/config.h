#ifndef FOREBAY_SERVER_DAEMON_CONFIG_H_
#define FOREBAY_SERVER_DAEMON_CONFIG_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"

namespace forebay::daemon {

// Reads the daemon's TOML file into the schema of config.proto. A table of the
// file is a message, and a key is a field. Fields that the file leaves out stay
// unset and read as their defaults. deploy/forebayd.toml documents every key.
//
// Thread-safe. Blocks for file I/O. NOT_FOUND and PERMISSION_DENIED concern the
// file, INVALID_ARGUMENT its content. A message is one sentence that names the
// file, the key and the line.
absl::StatusOr<proto::Config> ReadConfig(const std::string& path);

// Reads a TOML text as ReadConfig reads a file. In messages, `name` is the
// file's name. Thread-safe; never blocks.
absl::StatusOr<proto::Config> ParseConfig(std::string_view toml,
                                          std::string_view name);

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_CONFIG_H_

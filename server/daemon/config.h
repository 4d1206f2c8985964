#ifndef FOREBAY_SERVER_DAEMON_CONFIG_H_
#define FOREBAY_SERVER_DAEMON_CONFIG_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"

namespace forebay::daemon {

// Reads the daemon's TOML file into the schema of config.proto: a table is a
// message, a key is a field. Fields that the file leaves out stay unset and
// read as their defaults. deploy/forebayd.toml documents every key.
//
// Thread-safe. ReadConfig blocks for file I/O. Errors: NOT_FOUND,
// PERMISSION_DENIED (the file), INVALID_ARGUMENT (its content): one sentence
// that names the file, the key and the line.
absl::StatusOr<proto::Config> ReadConfig(const std::string& path);

// The same for a text; `name` stands for the file.
absl::StatusOr<proto::Config> ParseConfig(std::string_view toml,
                                          std::string_view name);

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_CONFIG_H_

#include "server/daemon/config_schema.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/config.pb.h"
#include "proto/edit_distance.h"
#include "server/base/byte_size.h"
#include "server/base/cpu_share.h"
#include "server/base/status.h"
#include "server/daemon/cache_memory.h"
#include "server/pipeline/vector_target.h"
#include "server/storage/http/url.h"

namespace forebay::daemon {
namespace {

absl::string_view View(std::string_view text) {
  return absl::string_view(text.data(), text.size());
}

struct NumberRange {
  std::string_view key;
  double min;
  double max;
};

// As the comments of config.proto say.
constexpr NumberRange kNumberRanges[] = {
    {"cpu.workers", 0, 1024},
    {"storage.local_threads", 1, 256},
    {"index.list_seconds", 0, 604800},
    {"image.max_pixels", 1, 65535.0 * 65535.0},
    {"session.idle_seconds", 0, 86400},
    {"session.exit_when_idle_seconds", 0, 604800},
};

void AppendKeys(const google::protobuf::Descriptor& message,
                const std::string& prefix, std::vector<std::string>* keys) {
  for (int i = 0; i < message.field_count(); ++i) {
    const auto* field = message.field(i);
    const std::string name = absl::StrCat(prefix, field->name());
    keys->push_back(name);
    if (field->message_type() != nullptr) {
      AppendKeys(*field->message_type(), absl::StrCat(name, "."), keys);
    }
  }
}

// That a size can be read does not depend on how much memory there is.
constexpr std::uint64_t kAnyMemory = std::uint64_t{1} << 40;

absl::Status CheckSize(std::string_view value) {
  const auto bytes = base::ParseByteSize(value, kAnyMemory);
  if (!bytes.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("is not a size such as \"512MiB\", \"8GiB\" or \"25%\": "
                     "\"",
                     View(value), "\""));
  }
  if (*bytes == 0) return absl::InvalidArgumentError("must not be 0");
  return absl::OkStatus();
}

absl::Status CheckCacheMemory(std::string_view value) {
  if (CacheMemory(value, kAnyMemory).ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "is neither \"auto\", \"0\" nor a size such as \"8GiB\" or \"25%\": \"",
      View(value), "\""));
}

// A share would be one of nothing: how large the disk is may change.
absl::Status CheckDiskSize(std::string_view value) {
  constexpr std::uint64_t kMin = std::uint64_t{64} << 20;
  const auto bytes = base::ParseByteSize(value, /*total=*/0);
  if (bytes.ok() && *bytes >= kMin) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("is not a size of at least 64MiB, such as \"200GiB\": \"",
                   View(value), "\""));
}

absl::Status CheckDecoded(std::string_view value) {
  if (value == "auto" || value == "off" ||
      base::ParseByteSize(value, /*total=*/0).ok()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("must be \"auto\", \"off\" or a size, such as \"10GiB\" or "
                   "\"25%\", not \"",
                   View(value), "\""));
}

absl::Status CheckAbsolutePath(std::string_view value) {
  if (value.empty() || value.front() == '/') return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("must be an absolute path, not \"", View(value), "\""));
}

absl::Status CheckUrl(std::string_view value) {
  if (value.empty()) return absl::OkStatus();
  const auto url = storage::http::ParseBaseUrl(value);
  if (url.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("must be a URL, such as \"https://host:9000\": ",
                   url.status().message()));
}

absl::Status CheckOneOf(const std::vector<std::string>& choices,
                        std::string_view value) {
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) {
    return absl::OkStatus();
  }
  std::string listed;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const char* joint = i == 0 ? "" : i + 1 < choices.size() ? ", " : " or ";
    absl::StrAppend(&listed, joint, "\"", choices[i], "\"");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("must be ", listed, ", not \"", View(value), "\""));
}

}  // namespace

std::vector<std::string> ConfigKeys() {
  std::vector<std::string> keys;
  AppendKeys(*proto::Config::descriptor(), "", &keys);
  return keys;
}

std::string NearestConfigKey(std::string_view name) {
  // Long unknown names need not be compared.
  if (name.size() > 100) return "";
  const std::string_view leaf = name.substr(name.rfind('.') + 1);
  std::string nearest;
  std::size_t least = proto::MostEdits(name) + 1;
  for (const std::string& key : ConfigKeys()) {
    // A key in the wrong table is as near as one letter.
    const bool misplaced =
        key != leaf && std::string_view(key).substr(key.rfind('.') + 1) == leaf;
    const std::size_t distance =
        misplaced ? 1 : proto::EditDistance(name, std::string_view(key));
    if (distance < least) {
      least = distance;
      nearest = key;
    }
  }
  return nearest;
}

absl::Status CheckNumber(std::string_view key, double value) {
  for (const NumberRange& range : kNumberRanges) {
    if (range.key != key) continue;
    if (value >= range.min && value <= range.max) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("must be from ", static_cast<std::int64_t>(range.min),
                     " to ", static_cast<std::int64_t>(range.max)));
  }
  return absl::OkStatus();
}

absl::Status CheckText(std::string_view key, std::string_view value) {
  if (key == "memory.limit" || key == "image.scratch_limit" ||
      key == "producer.memory") {
    return CheckSize(value);
  } else if (key == "cache.memory") {
    return CheckCacheMemory(value);
  } else if (key == "cache.disk_size") {
    return CheckDiskSize(value);
  } else if (key == "log.level") {
    return CheckOneOf({"debug", "info", "warning", "error"}, value);
  } else if (key == "cache.decoded") {
    return CheckDecoded(value);
  } else if (key == "storage.io_uring") {
    return CheckOneOf({"auto", "off"}, value);
  } else if (key == "cpu.limit") {
    const auto cpus = base::ParseCpuShare(value, 1);
    if (!cpus.ok()) return cpus.status();
  } else if (key == "cpu.simd") {
    return CheckOneOf(pipeline::VectorTargetNames(), value);
  } else if (key == "index.directory" || key == "cache.directory" ||
             key == "hdfs.token_file") {
    FOREBAY_RETURN_IF_ERROR(CheckAbsolutePath(value));
  } else if (key == "s3.endpoint" || key == "hdfs.endpoint") {
    return CheckUrl(value);
  } else if (key == "s3.addressing") {
    return CheckOneOf({"auto", "path", "virtual"}, value);
  } else if (key == "cuda.memory") {
    if (value != "auto") return CheckSize(value);
  } else if (key == "cuda.plugin" || key == "s3.credentials") {
    if (value != "auto" && value != "none" && !value.starts_with('/')) {
      return absl::InvalidArgumentError(
          absl::StrCat("must be \"auto\", \"none\" or an absolute path, not \"",
                       View(value), "\""));
    }
  }
  if (value.find('\0') != std::string_view::npos) {
    return absl::InvalidArgumentError("must not contain NUL");
  }
  return absl::OkStatus();
}

}  // namespace forebay::daemon

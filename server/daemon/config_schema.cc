#include "server/daemon/config_schema.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/config.pb.h"
#include "proto/config_options.pb.h"
#include "proto/edit_distance.h"
#include "server/base/byte_size.h"
#include "server/base/cpu_share.h"
#include "server/pipeline/vector_target.h"
#include "server/storage/http/url.h"

namespace forebay::daemon {
namespace {

// Returns the text as Abseil's own type, which its functions take.
absl::string_view View(std::string_view text) {
  return absl::string_view(text.data(), text.size());
}

// Appends the names of a message's fields, and of the fields below them.
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

// Bytes of memory to which percentages refer while a size is checked. Any
// number will do: whether a text is a size does not depend on it.
constexpr std::uint64_t kAnyMemory = std::uint64_t{1} << 40;
// The smallest size, in bytes, that a key of form Takes.BYTES takes.
constexpr std::uint64_t kFewestBytes = std::uint64_t{64} << 20;

// Describes the texts that have this form, in words that follow "must be".
std::string NounOf(proto::Takes::Form form) {
  switch (form) {
    case proto::Takes::SIZE:
    case proto::Takes::SIZE_OR_ZERO:
      return "a size, such as \"10GiB\" or \"25%\"";
    case proto::Takes::BYTES:
      return "a size of at least 64MiB, such as \"200GiB\"";
    case proto::Takes::CPUS:
      return "a number of CPUs or a share of them, such as \"1.5\" or \"75%\"";
    case proto::Takes::ABSOLUTE_PATH:
    case proto::Takes::PATH_OR_EMPTY:
      return "an absolute path";
    case proto::Takes::URL_OR_EMPTY:
      return "a URL, such as \"https://host:9000\"";
    case proto::Takes::ANY:
    case proto::Takes::NOTHING_ELSE:
    case proto::Takes::VECTOR_TARGET:
      return "";
  }
  return "";
}

// Returns OK if a text has the form, and otherwise an error that says why not.
// The message is empty if NounOf says enough.
absl::Status CheckForm(proto::Takes::Form form, std::string_view value) {
  const auto verdict = [](bool is_of_form) {
    return is_of_form ? absl::OkStatus() : absl::InvalidArgumentError("");
  };
  switch (form) {
    case proto::Takes::ANY:
      return absl::OkStatus();
    case proto::Takes::NOTHING_ELSE:
    case proto::Takes::VECTOR_TARGET:
      return verdict(false);
    case proto::Takes::SIZE: {
      const auto bytes = base::ParseByteSize(value, kAnyMemory);
      if (bytes.ok() && *bytes == 0)
        return absl::InvalidArgumentError("0 is too little");
      return verdict(bytes.ok());
    }
    case proto::Takes::SIZE_OR_ZERO:
      return verdict(base::ParseByteSize(value, kAnyMemory).ok());
    case proto::Takes::BYTES: {
      // With a total of 0 bytes, every percentage is 0 bytes, and is refused.
      const auto bytes = base::ParseByteSize(value, /*total=*/0);
      return verdict(bytes.ok() && *bytes >= kFewestBytes);
    }
    case proto::Takes::CPUS:
      return base::ParseCpuShare(value, 1).status();
    case proto::Takes::ABSOLUTE_PATH:
      return verdict(value.starts_with('/'));
    case proto::Takes::PATH_OR_EMPTY:
      return verdict(value.empty() || value.starts_with('/'));
    case proto::Takes::URL_OR_EMPTY:
      return value.empty() ? absl::OkStatus()
                           : storage::http::ParseBaseUrl(value).status();
  }
  return verdict(false);
}

// Describes the texts that a key takes, in words that follow "must be".
std::string TextsOf(const proto::Takes& takes,
                    const std::vector<std::string>& words) {
  std::vector<std::string> texts;
  for (const std::string& word : words)
    texts.push_back(absl::StrCat("\"", word, "\""));
  if (const std::string noun = NounOf(takes.form()); !noun.empty())
    texts.push_back(noun);
  std::string listed;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const char* joint = i == 0 ? "" : i + 1 < texts.size() ? ", " : " or ";
    absl::StrAppend(&listed, joint, texts[i]);
  }
  return listed;
}

}  // namespace

std::vector<std::string> ConfigKeys() {
  std::vector<std::string> keys;
  AppendKeys(*proto::Config::descriptor(), "", &keys);
  return keys;
}

// `name` is compared with the whole path of each key, so that a misspelt table
// is found too. If two keys are at the same distance, the first in the schema
// is taken.
std::string NearestConfigKey(std::string_view name) {
  // The comparison takes time that grows with the product of both lengths. No
  // key is nearly 100 bytes long.
  if (name.size() > 100) return "";
  const std::string_view leaf = name.substr(name.rfind('.') + 1);
  std::string nearest;
  std::size_t least = proto::MostEdits(name) + 1;
  for (const std::string& key : ConfigKeys()) {
    // A key in the wrong table counts as one edit away.
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

absl::Status CheckNumber(const google::protobuf::FieldDescriptor& key,
                         double value) {
  const proto::Takes& takes = key.options().GetExtension(proto::takes);
  // NaN is in no range.
  const bool is_in_range = value >= takes.min() && value <= takes.max();
  if (takes.has_min() && !is_in_range) {
    return absl::InvalidArgumentError(
        absl::StrCat("must be from ", static_cast<std::int64_t>(takes.min()),
                     " to ", static_cast<std::int64_t>(takes.max())));
  }
  return absl::OkStatus();
}

absl::Status CheckText(const google::protobuf::FieldDescriptor& key,
                       std::string_view value) {
  const proto::Takes& takes = key.options().GetExtension(proto::takes);
  std::vector<std::string> words(takes.words().begin(), takes.words().end());
  if (takes.form() == proto::Takes::VECTOR_TARGET)
    words = pipeline::VectorTargetNames();
  if (std::find(words.begin(), words.end(), value) != words.end())
    return absl::OkStatus();
  const absl::Status status = CheckForm(takes.form(), value);
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "must be ", TextsOf(takes, words),
        status.message().empty() ? absl::StrCat(", not \"", View(value), "\"")
                                 : absl::StrCat(": ", status.message())));
  }
  if (value.find('\0') != std::string_view::npos)
    return absl::InvalidArgumentError("must not contain NUL");
  return absl::OkStatus();
}

}  // namespace forebay::daemon

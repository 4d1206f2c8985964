#include "server/daemon/config.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#define TOML_EXCEPTIONS 0
// The deepest nesting of values that the parser accepts. Keys need two levels.
#define TOML_MAX_NESTED_VALUES 8
#include <toml++/toml.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/daemon/config_schema.h"

namespace forebay::daemon {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// The most bytes of a configuration: far more than any sensible file has.
constexpr std::size_t kMaxFileBytes = 1 << 20;
// The most dots of a line. toml++ bounds how deep values nest, but not how deep
// the tables of a dotted key nest. The destructor of tables is recursive, and
// could overflow the stack.
constexpr std::ptrdiff_t kMaxDots = 500;

// Returns the value of a node that is an integer or a floating-point number.
// toml++ itself returns no double for an integer that a double cannot hold
// exactly.
double NumberOf(const toml::node& node) {
  const auto* const integer = node.as_integer();
  return integer != nullptr ? static_cast<double>(integer->get())
                            : node.as_floating_point()->get();
}

// Returns the text as Abseil's own type, which its functions take.
absl::string_view View(std::string_view text) {
  return absl::string_view(text.data(), text.size());
}

// Refuses a text with a line of more than kMaxDots dots.
absl::Status CheckDots(std::string_view text, std::string_view name) {
  for (unsigned line = 1; !text.empty(); ++line) {
    const std::string_view row = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(row.size() + 1, text.size()));
    if (std::count(row.begin(), row.end(), '.') > kMaxDots) {
      return absl::InvalidArgumentError(
          absl::StrCat(View(name), ": no line may have more than ", kMaxDots,
                       " dots (line ", line, ")"));
    }
  }
  return absl::OkStatus();
}

// Fills messages from tables by protobuf's reflection, so that a new field of
// the schema needs no code here. Errors name `file`.
class TableReader {
 public:
  explicit TableReader(std::string_view file) : file_(file) {}

  // Fills `message` from `table`, and its sub-messages from the tables in it.
  // `prefix` is the table's own path with a dot, such as "memory.".
  absl::Status Read(const toml::table& table, const std::string& prefix,
                    Message* message) const {
    for (const auto& [key, node] : table) {
      const std::string name = absl::StrCat(prefix, View(key.str()));
      const auto line = key.source().begin.line;
      const FieldDescriptor* field =
          message->GetDescriptor()->FindFieldByName(std::string(key.str()));
      if (field == nullptr) return Unknown(name, line);
      if (field->message_type() == nullptr) {
        FOREBAY_RETURN_IF_ERROR(ReadKey(name, line, node, *field, message));
        continue;
      }
      const toml::table* inner = node.as_table();
      if (inner == nullptr) return Wrong(name, line, "must be a table");
      FOREBAY_RETURN_IF_ERROR(
          Read(*inner, absl::StrCat(name, "."),
               message->GetReflection()->MutableMessage(message, field)));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Unknown(const std::string& name, unsigned line) const {
    const std::string nearest = NearestConfigKey(name);
    return absl::InvalidArgumentError(absl::StrCat(
        file_, ": ", name, ": unknown key (line ", line, ")",
        nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?")));
  }

  absl::Status Wrong(const std::string& name, unsigned line,
                     absl::string_view why) const {
    return absl::InvalidArgumentError(
        absl::StrCat(file_, ": ", name, " ", why, " (line ", line, ")"));
  }

  absl::Status ReadKey(const std::string& name, unsigned line,
                       const toml::node& node, const FieldDescriptor& field,
                       Message* message) const {
    const google::protobuf::Reflection& reflection = *message->GetReflection();
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      const auto* text = node.as_string();
      if (text == nullptr) return Wrong(name, line, "must be a string");
      const absl::Status status = CheckText(field, text->get());
      if (!status.ok()) return Wrong(name, line, status.message());
      reflection.SetString(message, &field, text->get());
      return absl::OkStatus();
    }
    const bool fractions = field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
    if (!node.is_integer() && !(fractions && node.is_floating_point())) {
      return Wrong(name, line,
                   fractions ? "must be a number" : "must be an integer");
    }
    const absl::Status status = CheckNumber(field, NumberOf(node));
    if (!status.ok()) return Wrong(name, line, status.message());
    return SetNumber(name, line, node, field, message);
  }

  // Writes a number to the field. The caller has checked the number's range.
  absl::Status SetNumber(const std::string& name, unsigned line,
                         const toml::node& node, const FieldDescriptor& field,
                         Message* message) const {
    const google::protobuf::Reflection& reflection = *message->GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_DOUBLE:
        reflection.SetDouble(message, &field, NumberOf(node));
        return absl::OkStatus();
      case FieldDescriptor::CPPTYPE_UINT32:
        reflection.SetUInt32(message, &field, *node.value<std::uint32_t>());
        return absl::OkStatus();
      case FieldDescriptor::CPPTYPE_UINT64:
        reflection.SetUInt64(message, &field, *node.value<std::uint64_t>());
        return absl::OkStatus();
      default:
        return Wrong(name, line, "is of a kind that the schema does not use");
    }
  }

  const std::string file_;
};

}  // namespace

absl::StatusOr<proto::Config> ParseConfig(std::string_view toml_text,
                                          std::string_view name) {
  if (toml_text.size() > kMaxFileBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(View(name), ": larger than 1 MiB"));
  }
  FOREBAY_RETURN_IF_ERROR(CheckDots(toml_text, name));
  const toml::parse_result parsed = toml::parse(toml_text, name);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return absl::InvalidArgumentError(
        absl::StrCat(View(name), ": ", View(error.description()), " (line ",
                     error.source().begin.line, ")"));
  }
  proto::Config config;
  FOREBAY_RETURN_IF_ERROR(TableReader(name).Read(parsed.table(), "", &config));
  return config;
}

absl::StatusOr<proto::Config> ReadConfig(const std::string& path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(path.c_str(), "re"), &std::fclose);
  if (file == nullptr) return base::ErrnoStatus(errno, path);
  std::string text(kMaxFileBytes + 1, '\0');
  errno = 0;
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return base::ErrnoStatus(errno, path);
  return ParseConfig(text, path);
}

}  // namespace forebay::daemon

#include "tools/forebayctl/json.h"

#include <google/protobuf/util/json_util.h>

#include <string>

namespace forebay::ctl {

std::string ToJson(const google::protobuf::Message& message, bool one_line) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  options.add_whitespace = !one_line;
  std::string json;
  // The call fails only for cyclic or ill-formed well-known types, which these
  // messages do not have.
  const auto status =
      google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!status.ok()) return "{}\n";
  return one_line ? json + "\n" : json;
}

}  // namespace forebay::ctl

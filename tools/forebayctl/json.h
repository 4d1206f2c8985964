#ifndef FOREBAY_TOOLS_FOREBAYCTL_JSON_H_
#define FOREBAY_TOOLS_FOREBAYCTL_JSON_H_

#include <google/protobuf/message.h>

#include <string>

namespace forebay::ctl {

// `message` as one JSON object and a line break, with every field (zeros too)
// under its name in the .proto file. As protobuf's JSON has it, 64-bit integers
// are strings and bytes are base64. `one_line`: without line breaks inside.
std::string ToJson(const google::protobuf::Message& message,
                   bool one_line = false);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_JSON_H_

#ifndef FOREBAY_TOOLS_FOREBAYCTL_JSON_H_
#define FOREBAY_TOOLS_FOREBAYCTL_JSON_H_

#include <google/protobuf/message.h>

#include <string>

namespace forebay::ctl {

// Returns `message` as one JSON object and a line break. All fields are
// present, even zeros, under their names in the .proto file. 64-bit integers
// are strings and bytes are base64, as in protobuf's JSON. With `one_line`, the
// object has no line breaks inside. Thread-safe; never blocks.
std::string ToJson(const google::protobuf::Message& message,
                   bool one_line = false);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_JSON_H_

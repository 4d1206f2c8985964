#ifndef FOREBAY_TESTS_FUZZ_TEXT_MESSAGE_H_
#define FOREBAY_TESTS_FUZZ_TEXT_MESSAGE_H_

// Messages in protobuf's text format. People can read such seeds, and most
// mutations are still messages.

#include <google/protobuf/message.h>

#include <string>
#include <string_view>
#include <vector>

namespace forebay::fuzz {

// Reads a message, which may be nested as deeply as on the wire. Returns false
// if `text` is not a message.
bool ReadMessage(std::string_view text, google::protobuf::Message* message);

// Returns the parts of `text` between lines that are "--".
std::vector<std::string_view> SplitParts(std::string_view text);

}  // namespace forebay::fuzz

#endif  // FOREBAY_TESTS_FUZZ_TEXT_MESSAGE_H_

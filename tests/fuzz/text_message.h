#ifndef FOREBAY_TESTS_FUZZ_TEXT_MESSAGE_H_
#define FOREBAY_TESTS_FUZZ_TEXT_MESSAGE_H_

// Messages in protobuf's text format: seeds can be read, and most mutations
// still are messages.

#include <google/protobuf/message.h>

#include <string>
#include <string_view>
#include <vector>

namespace forebay::fuzz {

// False: `text` is none. It may be nested as deep as messages on the wire.
bool ReadMessage(std::string_view text, google::protobuf::Message* message);

// The parts of `text` between lines that are "--".
std::vector<std::string_view> SplitParts(std::string_view text);

}  // namespace forebay::fuzz

#endif  // FOREBAY_TESTS_FUZZ_TEXT_MESSAGE_H_

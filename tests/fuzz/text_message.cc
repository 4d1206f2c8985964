#include "tests/fuzz/text_message.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

namespace forebay::fuzz {
namespace {

constexpr int kDeepest = 100;

// Drops protobuf's error messages, which would fill the log.
class Silence final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int, google::protobuf::io::ColumnNumber,
                const std::string&) override {}
};

}  // namespace

bool ReadMessage(std::string_view text, google::protobuf::Message* message) {
  Silence silence;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&silence);
  parser.SetRecursionLimit(kDeepest);
  return parser.ParseFromString(std::string(text), message);
}

std::vector<std::string_view> SplitParts(std::string_view text) {
  constexpr std::string_view kBetween = "\n--\n";
  std::vector<std::string_view> parts;
  for (std::size_t end; (end = text.find(kBetween)) != text.npos;) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + kBetween.size());
  }
  parts.push_back(text);
  return parts;
}

}  // namespace forebay::fuzz

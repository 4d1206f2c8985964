#ifndef FOREBAY_SERVER_BASE_JSON_H_
#define FOREBAY_SERVER_BASE_JSON_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace forebay::base {

// The deepest nesting that is accepted in JSON from other programs. The parser
// itself does not recurse, but values are copied and written recursively:
// hostile text could overflow the stack.
constexpr int kMaxJsonDepth = 64;

// A base class that receives the parts of a JSON text one by one, and stores
// none of them. The parse ends if the text nests deeper than kMaxJsonDepth. A
// derived class overrides the events that it needs. An override of
// start_object, end_object, start_array or end_array calls this class's
// version.
//
// Not thread-safe. Each text needs an object of its own. The caller owns it.
// Never blocks. An event returns false to end the parse.
class JsonEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_unsigned(std::uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(nlohmann::json::binary_t&) override { return true; }
  bool key(std::string&) override { return true; }
  bool start_object(std::size_t) override {
    if (depth_ == 0) is_object_ = true;
    return Enter();
  }
  bool end_object() override { return Leave(); }
  bool start_array(std::size_t) override { return Enter(); }
  bool end_array() override { return Leave(); }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception&) override {
    return false;
  }

  // Returns how many objects and arrays are open.
  int depth() const { return depth_; }
  // Returns whether the outermost value of the text is an object.
  bool is_object() const { return is_object_; }

 private:
  bool Enter() { return ++depth_ <= kMaxJsonDepth; }
  bool Leave() {
    --depth_;
    return true;
  }

  int depth_ = 0;
  bool is_object_ = false;
};

// Passes the parts of `text`, which is one JSON object, to `events`.
// INVALID_ARGUMENT: the text is not a JSON object, or nests deeper than
// kMaxJsonDepth. The caller adds the text's name to the message. Thread-safe;
// never blocks.
absl::Status ReadJsonObject(std::string_view text, JsonEvents* events);
// Returns `text`, which is one JSON object, as a value. Its errors are those of
// ReadJsonObject. Thread-safe; never blocks.
absl::StatusOr<nlohmann::json> ParseJsonObject(std::string_view text);

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_JSON_H_

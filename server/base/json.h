#ifndef FOREBAY_SERVER_BASE_JSON_H_
#define FOREBAY_SERVER_BASE_JSON_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace forebay::base {

// The deepest nesting of JSON from other programs. The parser itself takes
// more, but its values are copied and written recursively, on a stack as deep
// as the text is long.
constexpr int kMaxJsonDepth = 64;

// Gets the parts of a JSON text one by one, and keeps none. A base class. Ends
// the parse of a text that nests deeper than kMaxJsonDepth.
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

  // Objects and arrays that are open.
  int depth() const { return depth_; }
  // Whether the text is an object.
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

// Both read a text that is one JSON object. Thread-safe; never block.
// INVALID_ARGUMENT: it is no JSON object, or nests deeper than kMaxJsonDepth.
// The caller adds the text's name.
absl::Status ReadJsonObject(std::string_view text, JsonEvents* events);
absl::StatusOr<nlohmann::json> ParseJsonObject(std::string_view text);

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_JSON_H_

#ifndef FOREBAY_TESTS_CATCH_MATCHERS_H_
#define FOREBAY_TESTS_CATCH_MATCHERS_H_

// Matchers for CHECK_THAT and REQUIRE_THAT that Catch2 lacks.

#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tests/catch/catch.h"

namespace forebay::tests {

// A predicate of values of any type. Where it does not hold, Catch2 prints the
// value and these words. Catch2 calls the members `match` and `toString`.
template <class Predicate>
class Matcher {
 public:
  Matcher(std::string words, Predicate predicate)
      : words_(std::move(words)), predicate_(std::move(predicate)) {}

  template <class Value>
  bool match(const Value& value) const {
    return predicate_(value);
  }
  std::string toString() const { return words_; }

  auto operator!() const {
    auto negated = [predicate = predicate_](const auto& value) {
      return !predicate(value);
    };
    return Matcher<decltype(negated)>("not (" + words_ + ")",
                                      std::move(negated));
  }

  template <class Other>
  auto operator&&(const Matcher<Other>& other) const {
    auto both = [predicate = predicate_, other](const auto& value) {
      return predicate(value) && other.match(value);
    };
    return Matcher<decltype(both)>(words_ + " and " + other.toString(),
                                   std::move(both));
  }

 private:
  const std::string words_;
  const Predicate predicate_;
};

template <class T>
inline constexpr bool kIsMatcher = false;
template <class Predicate>
inline constexpr bool kIsMatcher<Matcher<Predicate>> = true;

// Whether a value is a text: a string, a view of a string (Abseil's is a type
// of its own), or a literal.
template <class Value>
inline constexpr bool kIsText =
    std::is_convertible_v<const Value&, std::string_view> ||
    std::is_convertible_v<const Value&, absl::string_view>;

template <class Value>
std::string_view TextOf(const Value& value) {
  if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
    return value;
  } else {
    const absl::string_view text = value;
    return std::string_view(text.data(), text.size());
  }
}

// Whether a value is an integer that std::cmp_equal compares correctly whatever
// the signs of the two.
template <class Value>
inline constexpr bool kIsInteger =
    std::is_integral_v<Value> && !std::is_same_v<Value, bool> &&
    !std::is_same_v<Value, char> && !std::is_same_v<Value, wchar_t> &&
    !std::is_same_v<Value, char8_t> && !std::is_same_v<Value, char16_t> &&
    !std::is_same_v<Value, char32_t>;

// Whether `value` is equal to `expected`, or fits it if `expected` is a
// matcher.
template <class Value, class Expected>
bool Fits(const Value& value, const Expected& expected) {
  if constexpr (kIsMatcher<Expected>) {
    return expected.match(value);
  } else if constexpr (kIsInteger<Value> && kIsInteger<Expected>) {
    return std::cmp_equal(value, expected);
  } else {
    return value == expected;
  }
}

template <class Value, class Bound>
bool IsAtLeast(const Value& value, const Bound& bound) {
  if constexpr (kIsInteger<Value> && kIsInteger<Bound>) {
    return std::cmp_greater_equal(value, bound);
  } else {
    return value >= bound;
  }
}

template <class Expected>
std::string Words(const Expected& expected) {
  if constexpr (kIsMatcher<Expected>) {
    return expected.toString();
  } else {
    return Catch::Detail::stringify(expected);
  }
}

// Matches a Status or StatusOr without an error.
inline auto IsOk() {
  return Matcher("is OK", [](const auto& result) { return result.ok(); });
}

// Matches a Status or StatusOr with this code.
inline auto HasCode(absl::StatusCode code) {
  return Matcher(
      "has the code " + absl::StatusCodeToString(code),
      [code](const auto& result) {
        if constexpr (std::is_same_v<decltype(result), const absl::Status&>) {
          return result.code() == code;
        } else {
          return result.status().code() == code;
        }
      });
}

// Matches a text with this part, or a range with such an element.
template <class Part>
auto Contains(Part part) {
  return Matcher("contains " + Words(part), [part](const auto& value) {
    if constexpr (kIsText<std::remove_cvref_t<decltype(value)>>) {
      return TextOf(value).find(part) != std::string_view::npos;
    } else {
      for (const auto& element : value) {
        if (Fits(element, part)) return true;
      }
      return false;
    }
  });
}

// Matches like the above for a literal, which may contain null bytes.
template <std::size_t kSize>
auto Contains(const char (&part)[kSize]) {
  return Contains(std::string(part, kSize - 1));
}

inline auto StartsWith(const std::string& prefix) {
  return Matcher("starts with " + Words(prefix), [prefix](const auto& value) {
    return TextOf(value).substr(0, prefix.size()) == prefix;
  });
}

template <std::size_t kSize>
auto StartsWith(const char (&prefix)[kSize]) {
  return StartsWith(std::string(prefix, kSize - 1));
}

inline auto EndsWith(const std::string& suffix) {
  return Matcher("ends with " + Words(suffix), [suffix](const auto& value) {
    const std::string_view text = TextOf(value);
    return text.size() >= suffix.size() &&
           text.substr(text.size() - suffix.size()) == suffix;
  });
}

template <std::size_t kSize>
auto EndsWith(const char (&suffix)[kSize]) {
  return EndsWith(std::string(suffix, kSize - 1));
}

// Whether the ECMAScript expression describes a text from its first character
// to its last. Throws std::length_error: the standard library's stack does not
// suffice for a text of more than 8 KiB.
bool Describes(const std::string& expression, std::string_view text);

// Matches a text that the ECMAScript expression describes as a whole.
inline auto MatchesRegex(const std::string& expression) {
  return Matcher("matches " + expression, [expression](const auto& value) {
    return Describes(expression, TextOf(value));
  });
}

inline auto IsEmpty() {
  return Matcher("is empty",
                 [](const auto& range) { return std::empty(range); });
}

template <class Size>
auto SizeIs(Size size) {
  return Matcher("has the size " + Words(size), [size](const auto& range) {
    return Fits(std::size(range), size);
  });
}

// Matches a range with these elements, in this order.
template <class... Elements>
  requires(sizeof...(Elements) > 0)
auto ElementsAre(Elements... elements) {
  std::string words = "has the elements (";
  ((words += " " + Words(elements)), ...);
  words += " )";
  return Matcher(std::move(words), [elements...](const auto& range) {
    auto at = std::begin(range);
    const auto end = std::end(range);
    return (... && (at != end && Fits(*at++, elements))) && at == end;
  });
}

// Matches a range whose every element fits.
template <class Expected>
auto Each(Expected expected) {
  return Matcher("has elements of which each is " + Words(expected),
                 [expected](const auto& range) {
                   for (const auto& element : range) {
                     if (!Fits(element, expected)) return false;
                   }
                   return true;
                 });
}

// Matches a range with the elements of another, in any order. The first of
// several matchers that fit one element takes it.
template <class Range>
auto UnorderedElementsAreArray(Range expected) {
  std::string words = "has in some order the elements (";
  for (const auto& each : expected) words += " " + Words(each);
  return Matcher(words + " )", [expected](const auto& range) {
    std::vector<bool> found(std::size(expected));
    for (const auto& element : range) {
      std::size_t i = 0;
      for (const auto& each : expected) {
        if (!found[i] && Fits(element, each)) break;
        ++i;
      }
      if (i == found.size()) return false;
      found[i] = true;
    }
    return std::size(range) == found.size();
  });
}

// Matches a range with these elements, which have one type, in any order.
template <class... Elements>
auto UnorderedElementsAre(Elements... elements) {
  return UnorderedElementsAreArray(
      std::vector<std::common_type_t<Elements...>>{elements...});
}

template <class First, class Second>
auto Pair(First first, Second second) {
  return Matcher("is (" + Words(first) + ", " + Words(second) + ")",
                 [first, second](const auto& pair) {
                   return Fits(pair.first, first) && Fits(pair.second, second);
                 });
}

template <class Expected>
auto Key(Expected expected) {
  return Matcher(
      "has the key " + Words(expected),
      [expected](const auto& pair) { return Fits(pair.first, expected); });
}

// Matches a pointer or an optional value that holds a fitting value.
template <class Expected>
auto Pointee(Expected expected) {
  return Matcher("points to " + Words(expected), [expected](const auto& value) {
    return static_cast<bool>(value) && Fits(*value, expected);
  });
}

template <class Bound>
auto Ge(Bound bound) {
  return Matcher("is at least " + Words(bound), [bound](const auto& value) {
    return IsAtLeast(value, bound);
  });
}

template <class Bound>
auto Le(Bound bound) {
  return Matcher("is at most " + Words(bound), [bound](const auto& value) {
    return IsAtLeast(bound, value);
  });
}

template <class Predicate>
auto Not(const Matcher<Predicate>& matcher) {
  return !matcher;
}

template <class First, class... Others>
auto AllOf(First first, Others... others) {
  return (first && ... && others);
}

}  // namespace forebay::tests

#endif  // FOREBAY_TESTS_CATCH_MATCHERS_H_

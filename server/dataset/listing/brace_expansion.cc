#include "server/dataset/listing/brace_expansion.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

// A pattern consists of literals and braced expressions. The results of a
// pattern are all combinations of the results of these. A braced expression is
// a range ("{1..9}") or a sequence with commas, whose items are patterns
// themselves. All other braces are literals, as in braceexpand. Patterns come
// from clients, so the number of results, their bytes and the depth of nesting
// are bounded, and memory is counted before it is allocated.

namespace forebay::dataset::listing {
namespace {

using Strings = std::vector<std::string>;

// The bounds of a request: its number of results, the bytes of a pattern and of
// all results, and the depth of nesting. Names of files need far less.
constexpr std::size_t kMaxResults = std::size_t{1} << 20;
constexpr std::size_t kLongestPattern = 4096;  // bytes
constexpr std::size_t kMaxBytes = std::size_t{1} << 28;
constexpr int kDeepestNesting = 16;
// The letters that ranges may have, in the order of a range.
constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

absl::Status TooMany() {
  return absl::InvalidArgumentError(
      absl::StrCat("stands for more than ", kMaxResults, " names"));
}

absl::Status Unbalanced() {
  return absl::InvalidArgumentError("has unbalanced braces");
}

absl::StatusOr<Strings> ExpandPattern(std::string_view pattern, int nesting,
                                      base::WorkingMemory& memory);

// Counts `count` strings that have `bytes` bytes together.
absl::Status Count(std::uint64_t count, std::uint64_t bytes,
                   base::WorkingMemory& memory) {
  return memory.Grow(count * (sizeof(std::string) + base::HeapBytes(0)) +
                     bytes);
}

std::size_t BytesOf(const Strings& strings) {
  std::size_t bytes = 0;
  for (const std::string& text : strings) bytes += text.size();
  return bytes;
}

// Replaces `results` by all combinations: each of `results`, followed by each
// of `tails`.
absl::Status Multiply(Strings& results, const Strings& tails,
                      base::WorkingMemory& memory) {
  if (tails.size() == 1 && tails[0].empty()) return absl::OkStatus();
  if (!tails.empty() && results.size() > kMaxResults / tails.size()) {
    return TooMany();
  }
  const std::size_t bytes =
      BytesOf(results) * tails.size() + BytesOf(tails) * results.size();
  if (bytes > kMaxBytes) return TooMany();
  FOREBAY_RETURN_IF_ERROR(Count(results.size() * tails.size(), bytes, memory));
  Strings products;
  products.reserve(results.size() * tails.size());
  for (const std::string& result : results) {
    for (const std::string& tail : tails) products.push_back(result + tail);
  }
  results = std::move(products);
  return absl::OkStatus();
}

// Returns the two or three parts of a range that ".." separates. The third part
// is the step.
std::optional<std::vector<std::string_view>> RangeParts(
    std::string_view expression) {
  std::vector<std::string_view> parts;
  for (std::size_t dots; (dots = expression.find("..")) != expression.npos;) {
    parts.push_back(expression.substr(0, dots));
    expression.remove_prefix(dots + 2);
  }
  parts.push_back(expression);
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  return parts;
}

// Parses a bound or step of a range. Returns nothing if it is not an integer.
std::optional<std::int64_t> ParseInteger(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  // Numbers near the limits would overflow when steps are added to them.
  if (parsed.ec != std::errc() || parsed.ptr != end || number > INT64_MAX / 4 ||
      number < INT64_MIN / 4) {
    return std::nullopt;
  }
  return number;
}

// Returns the absolute value of the range's step, or 1 if the step is 0 or
// missing.
std::optional<std::int64_t> ParseStep(
    const std::vector<std::string_view>& parts) {
  if (parts.size() == 2) return 1;
  const std::optional<std::int64_t> step = ParseInteger(parts[2]);
  if (!step.has_value()) return std::nullopt;
  return *step == 0 ? 1 : std::abs(*step);
}

// Returns the width to which numbers are padded with zeros. If either bound has
// a leading zero, this is the length of the longer bound. Otherwise it is 0.
std::size_t PaddingOf(std::string_view first, std::string_view last) {
  const auto is_padded = [](std::string_view text) {
    return text != "0" && text != "-0" &&
           (text.starts_with('0') || text.starts_with("-0"));
  };
  if (!is_padded(first) && !is_padded(last)) return 0;
  return std::max(first.size(), last.size());
}

// Returns the number with zeros before its digits, up to `width` characters.
std::string Padded(std::int64_t number, std::size_t width) {
  std::string digits = absl::StrCat(std::abs(number));
  const std::size_t sign = number < 0 ? 1 : 0;
  if (digits.size() + sign < width) {
    digits.insert(0, width - sign - digits.size(), '0');
  }
  return sign == 0 ? digits : '-' + digits;
}

// Calls `append` with all numbers from `first` to `last`, up or down, in steps
// of `step`.
template <typename Append>
absl::Status ForRange(std::int64_t first, std::int64_t last, std::int64_t step,
                      std::size_t padding, base::WorkingMemory& memory,
                      Append append) {
  const std::uint64_t count =
      static_cast<std::uint64_t>(std::abs(last - first)) / step + 1;
  if (count > kMaxResults || count * padding > kMaxBytes) return TooMany();
  // The results lie in a vector whose capacity may be twice its size.
  FOREBAY_RETURN_IF_ERROR(Count(2 * count, count * padding, memory));
  const std::int64_t stride = first < last ? step : -step;
  for (std::uint64_t i = 0; i < count; ++i) {
    append(first + static_cast<std::int64_t>(i) * stride);
  }
  return absl::OkStatus();
}

// Expands a braced range of integers or letters. Returns nothing if the text
// between the braces is not a range.
absl::StatusOr<std::optional<Strings>> ExpandRange(
    std::string_view expression, base::WorkingMemory& memory) {
  const auto parts = RangeParts(expression);
  if (!parts.has_value()) return std::nullopt;
  const std::optional<std::int64_t> step = ParseStep(*parts);
  if (!step.has_value()) return std::nullopt;
  const std::string_view first = (*parts)[0];
  const std::string_view last = (*parts)[1];
  Strings results;
  const auto from = ParseInteger(first);
  const auto to = ParseInteger(last);
  if (from.has_value() && to.has_value()) {
    const std::size_t padding = PaddingOf(first, last);
    FOREBAY_RETURN_IF_ERROR(
        ForRange(*from, *to, *step, padding, memory, [&](std::int64_t number) {
          results.push_back(Padded(number, padding));
        }));
    return results;
  }
  if (first.size() != 1 || last.size() != 1) return std::nullopt;
  const std::size_t from_letter = kLetters.find(first[0]);
  const std::size_t to_letter = kLetters.find(last[0]);
  if (from_letter == kLetters.npos || to_letter == kLetters.npos) {
    return std::nullopt;
  }
  FOREBAY_RETURN_IF_ERROR(ForRange(
      static_cast<std::int64_t>(from_letter),
      static_cast<std::int64_t>(to_letter), *step, 1, memory,
      [&](std::int64_t letter) { results.emplace_back(1, kLetters[letter]); }));
  return results;
}

// Expands a braced sequence. Returns nothing if the text between the braces has
// no comma outside of inner braces.
absl::StatusOr<std::optional<Strings>> ExpandSequence(
    std::string_view sequence, int nesting, base::WorkingMemory& memory) {
  Strings results;
  std::size_t bytes = 0;
  const auto add = [&](std::string_view item) -> absl::Status {
    FOREBAY_ASSIGN_OR_RETURN(Strings expanded,
                             ExpandPattern(item, nesting, memory));
    bytes += BytesOf(expanded);
    if (results.size() + expanded.size() > kMaxResults || bytes > kMaxBytes) {
      return TooMany();
    }
    FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(results, expanded.size()));
    std::move(expanded.begin(), expanded.end(), std::back_inserter(results));
    return absl::OkStatus();
  };
  std::size_t start = 0;
  int depth = 0;
  bool found = false;
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    if (sequence[i] == '\\') {
      ++i;
    } else if (sequence[i] == '{') {
      ++depth;
    } else if (sequence[i] == '}') {
      --depth;
    } else if (sequence[i] == ',' && depth == 0) {
      FOREBAY_RETURN_IF_ERROR(add(sequence.substr(start, i - start)));
      start = i + 1;
      found = true;
    }
  }
  if (depth != 0 || !found) return std::nullopt;
  FOREBAY_RETURN_IF_ERROR(add(sequence.substr(start)));
  return results;
}

// Expands a braced expression. `expression` is the text between the braces.
absl::StatusOr<Strings> ExpandBraced(std::string_view expression, int nesting,
                                     base::WorkingMemory& memory) {
  FOREBAY_ASSIGN_OR_RETURN(std::optional<Strings> range,
                           ExpandRange(expression, memory));
  if (range.has_value()) return *std::move(range);
  FOREBAY_ASSIGN_OR_RETURN(std::optional<Strings> sequence,
                           ExpandSequence(expression, nesting, memory));
  if (sequence.has_value()) return *std::move(sequence);
  // The expression is neither a range nor a sequence, so the braces are
  // literals.
  FOREBAY_ASSIGN_OR_RETURN(Strings inner,
                           ExpandPattern(expression, nesting, memory));
  FOREBAY_RETURN_IF_ERROR(Count(inner.size(), BytesOf(inner), memory));
  for (std::string& text : inner) text = absl::StrCat("{", text, "}");
  return inner;
}

// Expands a pattern, and leaves its backslashes in place.
absl::StatusOr<Strings> ExpandPattern(std::string_view pattern, int nesting,
                                      base::WorkingMemory& memory) {
  if (nesting > kDeepestNesting) {
    return absl::InvalidArgumentError("has braces nested too deeply");
  }
  Strings results = {""};
  // Literal text that is yet to be appended to each result. Results are copied
  // only when their number grows. So expanding takes little longer than writing
  // the results.
  std::string rest;
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
    } else if (pattern[i] == '{') {
      if (depth++ == 0) {
        rest += pattern.substr(start, i - start);
        start = i;
      }
    } else if (pattern[i] == '}' && --depth == 0) {
      FOREBAY_ASSIGN_OR_RETURN(
          const Strings tails,
          ExpandBraced(pattern.substr(start + 1, i - start - 1), nesting + 1,
                       memory));
      start = i + 1;
      if (tails.size() == 1) {
        rest += tails[0];
        continue;
      }
      FOREBAY_RETURN_IF_ERROR(
          Multiply(results, {std::exchange(rest, "")}, memory));
      FOREBAY_RETURN_IF_ERROR(Multiply(results, tails, memory));
    }
  }
  if (depth != 0) return Unbalanced();
  rest += pattern.substr(start);
  FOREBAY_RETURN_IF_ERROR(Multiply(results, {rest}, memory));
  return results;
}

// Removes the backslashes that escape a character.
void RemoveEscapes(std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    // A backslash before a newline or at the end is literal, as in braceexpand.
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] != '\n') ++i;
    plain += text[i];
  }
  text = std::move(plain);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandBraces(
    std::string_view pattern, base::WorkingMemory& memory) {
  const std::string name(pattern);
  if (pattern.size() > kLongestPattern) {
    return absl::InvalidArgumentError(absl::StrCat(name.substr(0, 100),
                                                   "...: is longer than ",
                                                   kLongestPattern, " bytes"));
  }
  auto results = ExpandPattern(pattern, 0, memory);
  if (!results.ok()) return base::Annotate(results.status(), name);
  for (std::string& result : *results) RemoveEscapes(result);
  return results;
}

absl::StatusOr<std::vector<std::string>> ExpandBraces(
    const std::vector<std::string>& patterns, base::WorkingMemory& memory) {
  Strings all;
  std::size_t bytes = 0;
  for (const std::string& pattern : patterns) {
    FOREBAY_ASSIGN_OR_RETURN(Strings some, ExpandBraces(pattern, memory));
    bytes += BytesOf(some);
    if (all.size() + some.size() > kMaxResults || bytes > kMaxBytes)
      return base::Annotate(TooMany(), "what the patterns name");
    FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(all, some.size()));
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

bool HasWildcard(std::string_view text) {
  return text.find_first_of("*?[") != text.npos;
}

}  // namespace forebay::dataset::listing

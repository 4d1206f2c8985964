#include "server/dataset/shards/sample_name.h"

#include "absl/strings/ascii.h"

// webdataset splits a member's name by two regular expressions of Python's,
//
//   metadata       __[^/]*__($|/)
//   key, extension ^((?:.*/|)[^.]+)[.]([^/]*)$
//
// in which '.' does not match a newline, and '$' also matches before a newline
// at the end. The functions here do the same without regular expressions.

namespace forebay::dataset::shards {
namespace {

// Whether the first expression matches at the start of `name`.
bool IsMetadata(std::string_view name) {
  std::string_view first = name.substr(0, name.find('/'));
  if (first.size() == name.size() && first.ends_with('\n')) {
    first.remove_suffix(1);
  }
  return first.size() >= 4 && first.starts_with("__") && first.ends_with("__");
}

// Whether the second expression's first group matches `key`. It does if `key`,
// or the part behind one of its slashes, is not empty and has no dot.
bool IsKey(std::string_view key) {
  if (key.empty()) return false;
  const std::size_t dot = key.rfind('.');
  if (dot == key.npos) return true;
  const std::size_t slash = key.find('/', dot);
  return slash < key.size() - 1 && key.substr(0, slash).find('\n') == key.npos;
}

}  // namespace

std::optional<SampleName> SplitSampleName(std::string_view name) {
  if (IsMetadata(name)) return std::nullopt;
  const std::size_t slash = name.rfind('/');
  const std::size_t dot = name.find('.', slash == name.npos ? 0 : slash);
  if (dot == name.npos || !IsKey(name.substr(0, dot))) return std::nullopt;
  std::string extension(name.substr(dot + 1));
  absl::AsciiStrToLower(&extension);
  return SampleName{name.substr(0, dot), std::move(extension)};
}

}  // namespace forebay::dataset::shards

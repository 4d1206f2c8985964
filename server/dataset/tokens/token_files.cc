// A listing returns only files that its patterns match. Megatron-LM's indexes
// are therefore listed by patterns of their own, which are made from the
// patterns of the data files. If a pattern's ending lies in braces, the braces
// are expanded first. The index of each data file is then looked up by name.
#include "server/dataset/tokens/token_files.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/listing/brace_expansion.h"

namespace forebay::dataset::tokens {
namespace {

using storage::ListedObject;

constexpr std::string_view kData = ".bin";
constexpr std::string_view kIndex = ".idx";
constexpr std::string_view kArray = ".npy";

// Returns the name of the index of `data`, a name that ends in ".bin".
std::string IndexOf(std::string_view data) {
  data.remove_suffix(kData.size());
  return absl::StrCat(std::string(data), std::string(kIndex));
}

// Returns the patterns that match the indexes of the files that `patterns`
// match.
absl::StatusOr<std::vector<std::string>> IndexPatterns(
    std::vector<std::string> patterns, base::WorkingMemory& memory) {
  // A pattern such as "a{1.bin,2.npy}" has the endings of names within braces.
  if (!std::all_of(patterns.begin(), patterns.end(), [](std::string_view name) {
        return name.ends_with(kData);
      })) {
    FOREBAY_ASSIGN_OR_RETURN(patterns, listing::ExpandBraces(patterns, memory));
  }
  std::vector<std::string> indexes;
  for (const std::string& pattern : patterns) {
    if (pattern.ends_with(kArray)) continue;
    if (!pattern.ends_with(kData)) {
      return absl::InvalidArgumentError(absl::StrCat(
          pattern,
          ": tokens lie in files .npy, or in .bin with an .idx beside "
          "it; others have no header and need a dtype"));
    }
    indexes.push_back(IndexOf(pattern));
  }
  return indexes;
}

}  // namespace

absl::StatusOr<std::vector<TokenFile>> ListTokenFiles(
    const std::vector<std::string>& patterns, bool indexed,
    const ListPatterns& list, base::WorkingMemory& memory) {
  FOREBAY_ASSIGN_OR_RETURN(std::vector<ListedObject> data, list(patterns));
  FOREBAY_RETURN_IF_ERROR(
      memory.Grow(data.size() * (2 * sizeof(TokenFile) + base::HeapBytes(0))));
  std::map<std::string, ListedObject> indexes;
  if (indexed) {
    FOREBAY_ASSIGN_OR_RETURN(const std::vector<std::string> wanted,
                             IndexPatterns(patterns, memory));
    if (!wanted.empty()) {
      auto found = list(wanted);
      if (absl::IsNotFound(found.status())) {
        return absl::NotFoundError(absl::StrCat(
            found.status().message(), ": files without it need a dtype"));
      }
      FOREBAY_RETURN_IF_ERROR(found.status());
      for (ListedObject& index : *found) {
        std::string name = index.name;
        indexes.insert_or_assign(std::move(name), std::move(index));
      }
    }
  }
  std::vector<TokenFile> files;
  files.reserve(data.size());
  for (ListedObject& file : data) {
    TokenFile& one = files.emplace_back();
    one.data = std::move(file);
    if (!indexed || one.data.name.ends_with(kArray)) continue;
    const auto index = indexes.find(IndexOf(one.data.name));
    if (index == indexes.end()) {
      return absl::NotFoundError(
          absl::StrCat(one.data.name, ": there is no ", IndexOf(one.data.name),
                       ", which says the type of its tokens: if it has no "
                       "header, give a dtype"));
    }
    one.index = index->second;
  }
  return files;
}

}  // namespace forebay::dataset::tokens

#include "server/storage/gcs/gcs_listing.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/base/json.h"
#include "server/base/status.h"

namespace forebay::storage::gcs {
namespace {

using Json = nlohmann::json;

using http::BrokenList;

// Returns the text of a field, or null if the field is missing or not a string.
const std::string* StringIn(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : found->get_ptr<const std::string*>();
}

// Reads a number, which the API writes as a string if it has 64 bits.
template <typename Number>
bool ReadNumber(const Json& object, const char* key, Number* number) {
  const std::string* const text = StringIn(object, key);
  return text != nullptr && absl::SimpleAtoi(*text, number);
}

// Returns an object of the list (the API's "Objects" resource).
absl::StatusOr<ListedObject> ParseItem(const Json& item,
                                       std::string_view prefix) {
  if (!item.is_object()) return BrokenList("an item is not an object");
  const std::string* const name = StringIn(item, "name");
  if (name == nullptr || name->empty())
    return BrokenList("an item has no name");
  if (!std::string_view(*name).starts_with(prefix))
    return BrokenList("an item lies elsewhere");
  ListedObject object;
  object.name = name->substr(prefix.size());
  if (!ReadNumber(item, "size", &object.version.size))
    return BrokenList("an item has no size");
  if (!ReadNumber(item, "generation", &object.version.stamp) ||
      object.version.stamp <= 0)
    return BrokenList("an item has no generation");
  return object;
}

// Adds the folders of a page (its "prefixes") by their names below the root.
absl::Status ParseFolders(const Json& page, std::string_view prefix,
                          std::vector<std::string>* folders) {
  const auto found = page.find("prefixes");
  if (found == page.end()) return absl::OkStatus();
  if (!found->is_array())
    return BrokenList("a page's folders are not an array");
  for (const Json& item : *found) {
    const auto* const name = item.get_ptr<const std::string*>();
    if (name == nullptr || !std::string_view(*name).starts_with(prefix) ||
        name->size() == prefix.size() || !name->ends_with('/'))
      return BrokenList("a folder has another name than it can have");
    folders->push_back(name->substr(prefix.size()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ListPage> ParseListPage(std::string_view json,
                                       std::string_view prefix) {
  const auto parsed = base::ParseJsonObject(json);
  if (!parsed.ok()) {
    return BrokenList(absl::StrCat("a page ", parsed.status().message()));
  }
  const Json& page = *parsed;
  ListPage list;
  if (page.contains("nextPageToken")) {
    const std::string* const token = StringIn(page, "nextPageToken");
    if (token == nullptr) return BrokenList("a page's successor has no name");
    list.next_token = *token;
  }
  FOREBAY_RETURN_IF_ERROR(ParseFolders(page, prefix, &list.folders));
  const auto items = page.find("items");
  if (items == page.end()) return list;
  if (!items->is_array()) return BrokenList("a page's items are not an array");
  list.objects.reserve(items->size());
  for (const Json& item : *items) {
    FOREBAY_ASSIGN_OR_RETURN(ListedObject object, ParseItem(item, prefix));
    if (object.name.empty() || object.name.ends_with('/')) continue;
    list.objects.push_back(std::move(object));
  }
  return list;
}

absl::StatusOr<ListedObject> ParseObject(std::string_view json,
                                         std::string_view prefix) {
  const auto item = base::ParseJsonObject(json);
  if (!item.ok()) {
    return BrokenList(absl::StrCat("an item ", item.status().message()));
  }
  return ParseItem(*item, prefix);
}

http::PagedPlace ListsOf(const GcsRoot& root, http::Authorizer* authorizer) {
  http::PagedPlace place;
  place.url = [&root](std::string_view folder, bool one_level,
                      std::string_view page_token) {
    return root.ListUrl(folder, one_level, page_token);
  };
  place.parse = [&root](std::string_view body) {
    return ParseListPage(body, root.prefix());
  };
  place.authorizer = authorizer;
  return place;
}

absl::Status ListObjects(http::Client* client, http::Authorizer* authorizer,
                         const GcsRoot& root,
                         const std::function<bool(ListedObject)>& each,
                         const ListOptions& options) {
  return http::ListObjects(client, ListsOf(root, authorizer), each, options);
}

}  // namespace forebay::storage::gcs

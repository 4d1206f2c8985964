#include "server/storage/gcs/listing.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/base/json.h"
#include "server/base/status.h"

namespace forebay::storage::gcs {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxPageBytes = 16 << 20;
// A client waits for the list: half a minute of faults is an error.
constexpr int kListAttempts = 8;

absl::Status Broken(absl::string_view reason) {
  return absl::DataLossError(
      absl::StrCat("the list of objects is broken: ", reason));
}

const std::string* StringIn(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : found->get_ptr<const std::string*>();
}

// The API writes 64-bit numbers as strings.
template <typename Number>
bool ReadNumber(const Json& object, const char* key, Number* number) {
  const std::string* const text = StringIn(object, key);
  return text != nullptr && absl::SimpleAtoi(*text, number);
}

absl::StatusOr<ListedObject> ParseItem(const Json& item,
                                       std::string_view prefix) {
  if (!item.is_object()) return Broken("an item is no object");
  const std::string* const name = StringIn(item, "name");
  if (name == nullptr || name->empty()) return Broken("an item has no name");
  if (!std::string_view(*name).starts_with(prefix))
    return Broken("an item lies elsewhere");
  ListedObject object;
  object.name = name->substr(prefix.size());
  if (!ReadNumber(item, "size", &object.version.size))
    return Broken("an item has no size");
  if (!ReadNumber(item, "generation", &object.version.stamp) ||
      object.version.stamp <= 0)
    return Broken("an item has no generation");
  return object;
}

absl::Status ParseFolders(const Json& page, std::string_view prefix,
                          std::vector<std::string>* folders) {
  const auto found = page.find("prefixes");
  if (found == page.end()) return absl::OkStatus();
  if (!found->is_array()) return Broken("a page's folders are no array");
  for (const Json& item : *found) {
    const auto* const name = item.get_ptr<const std::string*>();
    if (name == nullptr || !std::string_view(*name).starts_with(prefix) ||
        name->size() == prefix.size() || !name->ends_with('/'))
      return Broken("a folder has another name than it can have");
    folders->push_back(name->substr(prefix.size()));
  }
  return absl::OkStatus();
}

// Returns the page of a call, or its error.
absl::StatusOr<ListPage> PageOf(const http::Answer& answer,
                                const std::string& prefix) {
  if (answer.failure != http::Failure::kNone)
    return Broken("a page is too long");
  return ParseListPage(answer.body, prefix);
}

}  // namespace

absl::StatusOr<ListPage> ParseListPage(std::string_view json,
                                       std::string_view prefix) {
  const auto parsed = base::ParseJsonObject(json);
  if (!parsed.ok()) {
    return Broken(absl::StrCat("a page ", parsed.status().message()));
  }
  const Json& page = *parsed;
  ListPage list;
  if (page.contains("nextPageToken")) {
    const std::string* const token = StringIn(page, "nextPageToken");
    if (token == nullptr) return Broken("a page's successor has no name");
    list.next_token = *token;
  }
  FOREBAY_RETURN_IF_ERROR(ParseFolders(page, prefix, &list.folders));
  const auto items = page.find("items");
  if (items == page.end()) return list;
  if (!items->is_array()) return Broken("a page's items are no array");
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
    return Broken(absl::StrCat("an item ", item.status().message()));
  }
  return ParseItem(*item, prefix);
}

absl::Status ListObjects(http::Client* client, http::Authorizer* authorizer,
                         const GcsRoot& root,
                         const std::function<bool(ListedObject)>& each,
                         const ListOptions& options) {
  std::string token;
  std::optional<std::string> last;
  do {
    ListPage page;
    http::Call call;
    call.request.url =
        root.ListUrl(options.folder, options.folders != nullptr, token);
    call.request.max_body = kMaxPageBytes;
    call.authorizer = authorizer;
    call.attempts = kListAttempts;
    call.kind = http::RequestKind::kList;
    call.judge = [&](const http::Answer& answer) -> absl::Status {
      FOREBAY_ASSIGN_OR_RETURN(page, PageOf(answer, root.prefix()));
      return absl::OkStatus();
    };
    const auto answer = client->Await(std::move(call), options.stop);
    FOREBAY_RETURN_IF_ERROR(answer.status());
    for (ListedObject& object : page.objects) {
      if ((last.has_value() && object.name <= *last) ||
          !object.name.starts_with(options.folder))
        return Broken("its pages are out of order");
      last = object.name;
      if (!each(std::move(object))) return absl::OkStatus();
    }
    if (options.folders)
      for (std::string& folder : page.folders)
        options.folders(std::move(folder));
    if (!page.next_token.empty() && page.next_token == token)
      return Broken("a page follows itself");
    token = std::move(page.next_token);
  } while (!token.empty());
  return absl::OkStatus();
}

}  // namespace forebay::storage::gcs

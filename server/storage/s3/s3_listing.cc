#include "server/storage/s3/s3_listing.h"

#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "server/base/status.h"
#include "server/storage/s3/fault.h"
#include "server/storage/s3/s3_protocol.h"
#include "server/storage/s3/xml.h"

namespace forebay::storage::s3 {
namespace {

using http::BrokenList;

// Decodes `text`, which is encoded as application/x-www-form-urlencoded.
// Returns nullopt if `text` is malformed.
std::optional<std::string> Unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    if (i + 2 >= text.size() ||
        !absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 1])) ||
        !absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 2])))
      return std::nullopt;
    plain += absl::HexStringToBytes({text.data() + i + 1, 2});
    i += 2;
  }
  return plain;
}

// Reads a page. With EncodingType "url", the names in it are escaped.
class PageReader {
 public:
  PageReader(const pugi::xml_node& page, std::string_view prefix,
             http::EntityTags* tags)
      : page_(page),
        prefix_(prefix),
        tags_(tags),
        escaped_(std::strcmp(page.child_value("EncodingType"), "url") == 0) {}

  absl::StatusOr<http::ListPage> Read() const {
    http::ListPage list;
    for (const pugi::xml_node item : page_.children("Contents")) {
      FOREBAY_ASSIGN_OR_RETURN(ListedObject object, ReadObject(item));
      if (object.name.empty() || object.name.ends_with('/')) continue;
      list.objects.push_back(std::move(object));
    }
    for (const pugi::xml_node item : page_.children("CommonPrefixes")) {
      FOREBAY_ASSIGN_OR_RETURN(std::string folder, NameIn(item, "Prefix"));
      if (folder.empty() || !folder.ends_with('/'))
        return BrokenList("a folder has another name than it can have");
      list.folders.push_back(std::move(folder));
    }
    if (std::strcmp(page_.child_value("IsTruncated"), "true") != 0) return list;
    list.next_token = page_.child_value("NextContinuationToken");
    if (list.next_token.empty())
      return BrokenList("a page's successor has no name");
    return list;
  }

 private:
  // Returns the key in the element `child` of `item`, without the prefix.
  absl::StatusOr<std::string> NameIn(const pugi::xml_node& item,
                                     const char* child) const {
    const std::string written = item.child_value(child);
    const std::optional<std::string> key =
        escaped_ ? Unescaped(written) : written;
    if (!key.has_value() || key->empty() || key->find('\0') != key->npos)
      return BrokenList("an item has no key");
    if (!std::string_view(*key).starts_with(prefix_))
      return BrokenList("an item lies elsewhere");
    return key->substr(prefix_.size());
  }

  // Returns an element "Contents" as an object.
  absl::StatusOr<ListedObject> ReadObject(const pugi::xml_node& item) const {
    ListedObject object;
    FOREBAY_ASSIGN_OR_RETURN(object.name, NameIn(item, "Key"));
    if (!absl::SimpleAtoi(item.child_value("Size"), &object.version.size))
      return BrokenList("an item has no size");
    const std::string_view tag = PlainTag(item.child_value("ETag"));
    if (tag.empty()) return BrokenList("an item has no ETag");
    object.version.stamp = http::StampOfTag(tag);
    tags_->Add(tag);
    return object;
  }

  const pugi::xml_node page_;
  const std::string_view prefix_;
  http::EntityTags* const tags_;
  const bool escaped_;
};

}  // namespace

absl::StatusOr<http::ListPage> ParseListPage(std::string_view xml,
                                             std::string_view prefix,
                                             http::EntityTags* tags) {
  pugi::xml_document document;
  if (!ParseXml(xml, &document)) return BrokenList("a page is not XML");
  const pugi::xml_node page = document.child("ListBucketResult");
  if (!page) return BrokenList("a page is of another kind");
  return PageReader(page, prefix, tags).Read();
}

http::PagedPlace ListsOf(const S3Root& root, http::Authorizer* authorizer,
                         http::EntityTags* tags) {
  http::PagedPlace place;
  place.url = [&root](std::string_view folder, bool one_level,
                      std::string_view page_token) {
    return root.ListUrl(folder, one_level, page_token);
  };
  place.parse = [&root, tags](std::string_view body) {
    return ParseListPage(body, root.prefix(), tags);
  };
  place.authorizer = authorizer;
  place.fault = &FaultOf;
  return place;
}

}  // namespace forebay::storage::s3

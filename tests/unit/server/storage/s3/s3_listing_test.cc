#include "server/storage/s3/s3_listing.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "server/storage/s3/xml.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::storage::s3 {
namespace {

using tests::HasCode;
using tests::IsOk;

std::string Page(const std::string& content) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
         "<ListBucketResult "
         "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" +
         content + "</ListBucketResult>";
}

class ParseListPageTest {
 protected:
  absl::StatusOr<http::ListPage> Parse(const std::string& xml) {
    return ParseListPage(xml, "p/", &tags_);
  }

  http::EntityTags tags_;
};

TEST_CASE_METHOD(ParseListPageTest,
                 "The parser of an S3 list page reads a page",
                 "[s3][listing]") {
  const auto page = Parse(Page(
      "<Name>bucket</Name><Prefix>p/</Prefix><KeyCount>5</KeyCount>"
      "<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
      "<NextContinuationToken>1/a+b=</NextContinuationToken>"
      "<Contents><Key>p/</Key><ETag>\"e\"</ETag><Size>0</Size></Contents>"
      "<Contents><Key>p/x</Key><LastModified>2024-01-01T00:00:00.000Z"
      "</LastModified><ETag>&quot;abc-2&quot;</ETag>"
      "<Size>18446744073709551615</Size>"
      "<StorageClass>STANDARD</StorageClass></Contents>"
      "<Contents><Key>p/f/</Key><ETag>\"e\"</ETag><Size>0</Size></Contents>"
      "<Contents><Key>p/%C3%BC+y%2B%26%0A</Key><ETag>bare</ETag>"
      "<Size>3</Size></Contents>"
      "<CommonPrefixes><Prefix>p/g%20h/</Prefix></CommonPrefixes>"));
  REQUIRE_THAT(page, IsOk());
  CHECK(page->next_token == "1/a+b=");
  REQUIRE(page->objects.size() == 2);
  CHECK(page->objects[0].name == "x");
  CHECK(page->objects[0].version.size == UINT64_MAX);
  CHECK(page->objects[0].version.stamp == http::StampOfTag("abc-2"));
  CHECK(tags_.Find(page->objects[0].version.stamp) == "abc-2");
  CHECK(page->objects[1].name == "ü y+&\n");
  CHECK(page->objects[1].version.stamp == http::StampOfTag("bare"));
  REQUIRE(page->folders.size() == 1);
  CHECK(page->folders[0] == "g h/");
}

TEST_CASE_METHOD(
    ParseListPageTest,
    "Names in an S3 list page may stand as they are without URL encoding",
    "[s3][listing]") {
  const auto page =
      Parse(Page("<Contents><Key>p/a%20+&amp;&#65;</Key><ETag>e</ETag>"
                 "<Size>1</Size></Contents>"));
  REQUIRE_THAT(page, IsOk());
  CHECK(page->objects.at(0).name == "a%20+&A");
  CHECK_THAT(page->next_token, Catch::Equals(""));
}

TEST_CASE_METHOD(ParseListPageTest,
                 "The parser of an S3 list page checks every field",
                 "[s3][listing]") {
  const auto item = [](const auto&... fields) {
    return Page(absl::StrCat("<EncodingType>url</EncodingType><Contents>",
                             fields..., "</Contents>"));
  };
  const std::string key = "<Key>p/a</Key>";
  const std::string tag = "<ETag>e</ETag>";
  const std::string size = "<Size>1</Size>";
  CHECK_THAT(Parse(item(key, tag, size)), IsOk());
  for (const std::string& xml :
       {std::string(),
        std::string("no XML"),
        std::string("<a>"),
        std::string("<Error><Code>x</Code></Error>"),
        item(""),
        item(tag, size),
        item(key, tag),
        item(key, size),
        item("<Key>q/a</Key>", tag, size),
        item("<Key>p/%4</Key>", tag, size),
        item("<Key>p/%zz</Key>", tag, size),
        item("<Key>p/%00</Key>", tag, size),
        item(key, tag, "<Size>-1</Size>"),
        item(key, tag, "<Size>18446744073709551616</Size>"),
        item(key, "<ETag>\"a b\"</ETag>", size),
        item(key, "<ETag>", std::string(129, 'e'), "</ETag>", size),
        Page("<IsTruncated>true</IsTruncated>"),
        Page("<CommonPrefixes><Prefix>p/a</Prefix></CommonPrefixes>"),
        Page("<CommonPrefixes><Prefix>p/</Prefix></CommonPrefixes>"),
        Page("<Contents>").substr(0, 120)}) {
    CAPTURE(xml);
    CHECK_THAT(Parse(xml), HasCode(absl::StatusCode::kDataLoss));
  }
}

TEST_CASE_METHOD(
    ParseListPageTest,
    "Entities and document types in an S3 list page are not expanded",
    "[s3][listing]") {
  const std::string bomb =
      "<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">"
      "<!ENTITY f SYSTEM \"file:///etc/passwd\">]>" +
      Page(
          "<Contents><Key>p/&b;&f;</Key><ETag>e</ETag><Size>1</Size>"
          "</Contents>");
  const auto page = Parse(bomb);
  REQUIRE_THAT(page, IsOk());
  CHECK(page->objects.at(0).name == "&b;&f;");
}

TEST_CASE("The S3 XML parser refuses more elements than a page has",
          "[s3][listing]") {
  pugi::xml_document document;
  const auto elements = [](int count) {
    std::string xml = "<r>";
    for (int i = 0; i < count; ++i) xml += "<a/>";
    return xml + "</r>";
  };
  CHECK(ParseXml(elements(40'000), &document));
  CHECK_FALSE(ParseXml(elements(60'000), &document));
  std::string deep;
  for (int i = 0; i < 25'000; ++i) deep += "<a>";
  CHECK_FALSE(ParseXml(deep, &document));
  for (int i = 0; i < 24'000; ++i) deep += "</a>";
  CHECK_FALSE(ParseXml(deep, &document));
}

}  // namespace
}  // namespace forebay::storage::s3

#include "server/storage/http/url.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "server/storage/http/http_root.h"

namespace forebay::storage::http {
namespace {

TEST(UrlTest, Escapes) {
  EXPECT_EQ(EscapeComponent(""), "");
  EXPECT_EQ(EscapeComponent("aZ09-._~"), "aZ09-._~");
  EXPECT_EQ(EscapeComponent("a b/ü%?#&=+"), "a%20b%2F%C3%BC%25%3F%23%26%3D%2B");
  EXPECT_EQ(EscapePath("a b/ü?/x"), "a%20b/%C3%BC%3F/x");
}

TEST(UrlTest, TakesBaseUrls) {
  EXPECT_EQ(*ParseBaseUrl("http://host"), "http://host");
  EXPECT_EQ(*ParseBaseUrl("https://host:8080/a/b//"), "https://host:8080/a/b");
  for (const char* url : {"", "host/a", "ftp://host/", "file:///etc", "http://",
                          "http://a b/", "http://u:p@host/", "http://u@host/",
                          "http://host/?q", "http://host/#f", "http://h\x91st/",
                          "http:/host", "http:///host", "http:host"}) {
    const auto parsed = ParseBaseUrl(url);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument)
        << url;
  }
}

TEST(UrlTest, TellsWhatIsEncrypted) {
  EXPECT_TRUE(IsEncrypted("https://host"));
  EXPECT_TRUE(IsEncrypted("HTTPS://host"));
  for (const char* url : {"http://host", "https", "ftp://https://host", ""})
    EXPECT_FALSE(IsEncrypted(url)) << url;
}

TEST(UrlTest, FileUrlsNamePaths) {
  EXPECT_EQ(*PathOfFileUrl("file:///a/b.jpg"), "/a/b.jpg");
  EXPECT_EQ(*PathOfFileUrl("file://localhost/a"), "/a");
  EXPECT_EQ(*PathOfFileUrl("file:///a b/%C3%A9%25%23.jpg"),
            "/a b/\u00e9%#.jpg");
  EXPECT_EQ(*PathOfFileUrl("file:///a/../b"), "/a/../b");
  for (const char* url : {"", "/a", "http://host/a", "file:a", "file://other/a",
                          "file:///a%00b", "file:///a\nb"}) {
    EXPECT_EQ(PathOfFileUrl(url).status().code(),
              absl::StatusCode::kInvalidArgument)
        << url;
  }
}

TEST(HttpRootTest, ReadsNoLinkLocalAddressWhateverItIsCalled) {
  for (const char* url :
       {"http://169.254.169.254/x", "http://169.254.169.254./x",
        "http://2852039166/x", "http://0xa9.254.0xA9FE/x",
        "http://169.254.169.25%34/x", "http://metadata.google.internal./x",
        "http://[::ffff:169.254.169.254]/x"}) {
    const auto root = HttpRoot::Create(url);
    EXPECT_EQ(root.status().code(), absl::StatusCode::kInvalidArgument) << url;
  }
  EXPECT_TRUE(HttpRoot::Create("http://2130706433/x").ok());
}

TEST(HttpRootTest, NamesStayBelowTheRoot) {
  const auto root = *HttpRoot::Create("http://host/data/");
  EXPECT_EQ(root->uri(), "http://host/data");
  EXPECT_EQ(*root->UrlOf("a b/c.jpg"), "http://host/data/a%20b/c.jpg");
  EXPECT_EQ(*root->UrlOf("..."), "http://host/data/...");
  for (const char* name : {"", "/a", "a/", "a//b", "..", "a/../../b", "./a"})
    EXPECT_EQ(root->UrlOf(name).status().code(),
              absl::StatusCode::kInvalidArgument)
        << name;
}

TEST(UrlTest, OriginsAreSchemeHostAndPort) {
  for (const auto& [url, origin] :
       std::vector<std::pair<std::string, std::string>>{
           {"https://Host/a/b?c", "https://host:443"},
           {"http://host", "http://host:80"},
           {"HTTP://host:81?x=http://y:1/", "http://host:81"},
           {"https://user:word@host#x", "https://host:443"},
           {"http://[::1]/x", "http://[::1]:80"},
           {"http://[::1]:90/x", "http://[::1]:90"},
           {"http:///x", ""},
           {"host:80", ""}})
    EXPECT_EQ(OriginOf(url), origin) << url;
}

}  // namespace
}  // namespace forebay::storage::http

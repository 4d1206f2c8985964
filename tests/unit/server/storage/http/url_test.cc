#include "server/storage/http/url.h"

#include <string>
#include <utility>
#include <vector>

#include "server/storage/http/http_root.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::storage::http {
namespace {

using tests::HasCode;
using tests::IsOk;

TEST_CASE("Components and paths of a URL are escaped", "[http][url]") {
  CHECK_THAT(EscapeComponent(""), Catch::Equals(""));
  CHECK(EscapeComponent("aZ09-._~") == "aZ09-._~");
  CHECK(EscapeComponent("a b/ü%?#&=+") == "a%20b%2F%C3%BC%25%3F%23%26%3D%2B");
  CHECK(EscapePath("a b/ü?/x") == "a%20b/%C3%BC%3F/x");
}

TEST_CASE("Valid base URLs are taken and others refused", "[http][url]") {
  CHECK(*ParseBaseUrl("http://host") == "http://host");
  CHECK(*ParseBaseUrl("https://host:8080/a/b//") == "https://host:8080/a/b");
  for (const char* url : {"", "host/a", "ftp://host/", "file:///etc", "http://",
                          "http://a b/", "http://u:p@host/", "http://u@host/",
                          "http://host/?q", "http://host/#f", "http://h\x91st/",
                          "http:/host", "http:///host", "http:host"}) {
    const auto parsed = ParseBaseUrl(url);
    CAPTURE(url);
    CHECK_THAT(parsed, HasCode(absl::StatusCode::kInvalidArgument));
  }
}

TEST_CASE("A URL tells whether its connection is encrypted", "[http][url]") {
  CHECK(IsEncrypted("https://host"));
  CHECK(IsEncrypted("HTTPS://host"));
  for (const char* url : {"http://host", "https", "ftp://https://host", ""}) {
    CAPTURE(url);
    CHECK_FALSE(IsEncrypted(url));
  }
}

TEST_CASE("File URLs name paths of this host", "[http][url]") {
  CHECK(*PathOfFileUrl("file:///a/b.jpg") == "/a/b.jpg");
  CHECK(*PathOfFileUrl("file://localhost/a") == "/a");
  CHECK(*PathOfFileUrl("file:///a b/%C3%A9%25%23.jpg") == "/a b/\u00e9%#.jpg");
  CHECK(*PathOfFileUrl("file:///a/../b") == "/a/../b");
  for (const char* url : {"", "/a", "http://host/a", "file:a", "file://other/a",
                          "file:///a%00b", "file:///a\nb"}) {
    CAPTURE(url);
    CHECK_THAT(PathOfFileUrl(url), HasCode(absl::StatusCode::kInvalidArgument));
  }
}

TEST_CASE("An HTTP root reads no link-local address whatever it is called",
          "[http][url]") {
  for (const char* url :
       {"http://169.254.169.254/x", "http://169.254.169.254./x",
        "http://2852039166/x", "http://0xa9.254.0xA9FE/x",
        "http://169.254.169.25%34/x", "http://metadata.google.internal./x",
        "http://[::ffff:169.254.169.254]/x"}) {
    const auto root = HttpRoot::Create(url);
    CAPTURE(url);
    CHECK_THAT(root, HasCode(absl::StatusCode::kInvalidArgument));
  }
  CHECK_THAT(HttpRoot::Create("http://2130706433/x"), IsOk());
}

TEST_CASE("Object names stay below an HTTP root", "[http][url]") {
  const auto root = *HttpRoot::Create("http://host/data/");
  CHECK(root->uri() == "http://host/data");
  CHECK(*root->UrlOf("a b/c.jpg") == "http://host/data/a%20b/c.jpg");
  CHECK(*root->UrlOf("...") == "http://host/data/...");
  for (const char* name : {"", "/a", "a/", "a//b", "..", "a/../../b", "./a"}) {
    CAPTURE(name);
    CHECK_THAT(root->UrlOf(name), HasCode(absl::StatusCode::kInvalidArgument));
  }
}

TEST_CASE("A URL's origin is its scheme and host and port", "[http][url]") {
  for (const auto& [url, origin] :
       std::vector<std::pair<std::string, std::string>>{
           {"https://Host/a/b?c", "https://host:443"},
           {"http://host", "http://host:80"},
           {"HTTP://host:81?x=http://y:1/", "http://host:81"},
           {"https://user:word@host#x", "https://host:443"},
           {"http://[::1]/x", "http://[::1]:80"},
           {"http://[::1]:90/x", "http://[::1]:90"},
           {"http:///x", ""},
           {"host:80", ""}}) {
    CAPTURE(url);
    CHECK(OriginOf(url) == origin);
  }
}

}  // namespace
}  // namespace forebay::storage::http

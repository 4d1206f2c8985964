#include "server/storage/http/link_local.h"

#include "tests/catch/catch.h"

namespace forebay::storage::http {
namespace {

TEST_CASE("The link-local check knows the addresses where secrets are told",
          "[http][link_local]") {
  for (const char* host : {"169.254.169.254",
                           "169.254.0.1",
                           "fe80::1",
                           "[fe80::1]",
                           "[fe80::1%eth0]",
                           "FEBF::9",
                           "::ffff:169.254.169.254",
                           "[::ffff:a9fe:a9fe]",
                           "fd00:ec2::254",
                           "[fd20:ce::254]",
                           "metadata",
                           "metadata.google.internal",
                           "Metadata.Google.Internal.",
                           "169.254.169.254.",
                           "2852039166",
                           "0xA9FEA9FE",
                           "0251.0376.0251.0376",
                           "169.254.43518",
                           "::169.254.169.254",
                           "[64:ff9b::a9fe:a9fe]"}) {
    CAPTURE(host);
    CHECK(IsLinkLocal(host));
  }
  for (const char* host :
       {"", "127.0.0.1", "10.169.254.1", "169.253.1.1", "192.168.1.1", "::1",
        "[2001:db8::1]", "2130706433", "0x7f.1", "64:ff9b::7f00:1", "fd00::1",
        "::ffff:10.0.0.1", "data.example.com", "metadata.example.com",
        "169.254.169.254.example.com"}) {
    CAPTURE(host);
    CHECK_FALSE(IsLinkLocal(host));
  }
}

}  // namespace
}  // namespace forebay::storage::http

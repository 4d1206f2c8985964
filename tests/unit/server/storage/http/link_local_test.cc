#include "server/storage/http/link_local.h"

#include <gtest/gtest.h>

namespace forebay::storage::http {
namespace {

TEST(LinkLocalTest, KnowsWhereSecretsAreTold) {
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
                           "[64:ff9b::a9fe:a9fe]"})
    EXPECT_TRUE(IsLinkLocal(host)) << host;
  for (const char* host :
       {"", "127.0.0.1", "10.169.254.1", "169.253.1.1", "192.168.1.1", "::1",
        "[2001:db8::1]", "2130706433", "0x7f.1", "64:ff9b::7f00:1", "fd00::1",
        "::ffff:10.0.0.1", "data.example.com", "metadata.example.com",
        "169.254.169.254.example.com"})
    EXPECT_FALSE(IsLinkLocal(host)) << host;
}

}  // namespace
}  // namespace forebay::storage::http

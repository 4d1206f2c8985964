#include "server/storage/s3/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "server/storage/s3/credentials.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::storage::s3 {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kFile[] =
    "# of two people\n"
    "[default]\r\n"
    "aws_access_key_id = AKIA1\r\n"
    "aws_secret_access_key=secret/1==\n"
    "\n"
    "[ other ]\n"
    "aws_access_key_id = AKIA2\n"
    "aws_secret_access_key = secret2\n"
    "aws_session_token = token2\n"
    "s3 =\n"
    "  aws_access_key_id = nested\n"
    "[role]\n"
    "role_arn = arn:aws:iam::1:role/x\n"
    "[half]\n"
    "aws_access_key_id = AKIA3\n"
    "[odd]\n"
    "aws_access_key_id = A KIA\n"
    "aws_secret_access_key = x\n";

TEST(FindProfileTest, ReadsOneSection) {
  const auto found = FindProfile(kFile, "default");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(*found, (Profile{{"aws_access_key_id", "AKIA1"},
                             {"aws_secret_access_key", "secret/1=="}}));
  EXPECT_EQ(FindProfile(kFile, "other")->at("aws_access_key_id"), "AKIA2");
  EXPECT_FALSE(FindProfile(kFile, "nobody").has_value());
  EXPECT_FALSE(FindProfile("", "default").has_value());
  EXPECT_TRUE(FindProfile("[default]\nno key\n[x", "default")->empty());
  EXPECT_TRUE(FindProfile("\xef\xbb\xbf[default]\nk = v", "default")
                  .value_or(Profile())
                  .count("k"));
}

class FindEndpointTest : public ::testing::Test {
 protected:
  absl::StatusOr<Endpoint> Find() {
    return FindEndpoint(settings_, environment_);
  }

  const local::ScratchDir scratch_;
  Settings settings_;
  Environment environment_;
};

TEST_F(FindEndpointTest, TheRegionIsTheFirstThatIsNamed) {
  EXPECT_EQ(Find()->url, "https://s3.us-east-1.amazonaws.com");
  environment_.config_file = scratch_.Path("config");
  EXPECT_EQ(Find()->region, "us-east-1");
  scratch_.Write("config",
                 "[default]\nregion = eu-west-3\n"
                 "[profile work]\nregion = cn-north-1\n[work]\nregion = x\n");
  EXPECT_EQ(Find()->region, "eu-west-3");
  environment_.profile = "work";
  EXPECT_EQ(Find()->url, "https://s3.cn-north-1.amazonaws.com.cn");
  settings_.profile = "other";
  EXPECT_EQ(Find()->region, "us-east-1");
  environment_.region = "eu-north-1";
  EXPECT_EQ(Find()->region, "eu-north-1");
  settings_.region = "eu-south-1";
  EXPECT_EQ(Find()->region, "eu-south-1");
  for (const char* region : {"a.b", "A", "x/y", "a b", ""}) {
    environment_.region = settings_.region = region;
    settings_.profile = *region == '\0' ? "none" : "";
    EXPECT_EQ(Find().ok(), *region == '\0') << region;
  }
}

TEST_F(FindEndpointTest, TheProfileNamesAServer) {
  environment_.config_file = scratch_.Path("config");
  scratch_.Write("config",
                 "[default]\nendpoint_url = http://minio:9000/\n"
                 "[profile work]\nservices = here\nendpoint_url = ftp://x\n");
  EXPECT_EQ(Find()->UrlOf("b"), "http://minio:9000/b");
  EXPECT_EQ(Find()->region, "us-east-1");
  environment_.endpoint = "http://env";
  EXPECT_EQ(Find()->url, "http://env");
  environment_.endpoint = "";
  environment_.profile = "work";
  EXPECT_EQ(Find().status().code(), absl::StatusCode::kInvalidArgument);
  settings_.endpoint = "http://configured";
  EXPECT_EQ(Find()->url, "http://configured");
}

TEST_F(FindEndpointTest, AFileThatDecidesNothingMayBeUnreadable) {
  environment_.config_file = scratch_.Path("config");
  scratch_.Write("config", std::string(70'000, '#'));
  environment_.region = "eu-west-1";
  EXPECT_EQ(Find().status().code(), absl::StatusCode::kInvalidArgument);
  environment_.endpoint = "http://env";
  EXPECT_TRUE(Find().ok());
}

TEST_F(FindEndpointTest, ABucketsNameStandsInThePathOrInTheHost) {
  EXPECT_EQ(Find()->UrlOf("b"), "https://b.s3.us-east-1.amazonaws.com");
  EXPECT_EQ(Find()->UrlOf("b.c"), "https://s3.us-east-1.amazonaws.com/b.c");
  settings_.addressing = "path";
  EXPECT_EQ(Find()->UrlOf("b"), "https://s3.us-east-1.amazonaws.com/b");
  settings_.addressing = "auto";
  environment_.endpoint = "http://localhost:9000/";
  EXPECT_EQ(Find()->UrlOf("b"), "http://localhost:9000/b");
  settings_.endpoint = "https://minio/s3";
  EXPECT_EQ(Find()->UrlOf("b"), "https://minio/s3/b");
  settings_.addressing = "virtual";
  EXPECT_EQ(Find()->UrlOf("b.c"), "https://b.c.minio/s3");
  settings_.endpoint = "ftp://minio";
  EXPECT_EQ(Find().status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(EnvironmentTest, TakesTheNamesOfAmazonsLibraries) {
  for (const char* name :
       {"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_S3",
        "AWS_ENDPOINT_URL", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"})
    unsetenv(name);
  setenv("HOME", "/home/somebody", 1);
  setenv("AWS_DEFAULT_REGION", "later", 1);
  setenv("AWS_ENDPOINT_URL", "http://all", 1);
  Environment environment = Environment::OfProcess();
  EXPECT_EQ(environment.region, "later");
  EXPECT_EQ(environment.endpoint, "http://all");
  EXPECT_EQ(environment.credentials_file, "/home/somebody/.aws/credentials");
  EXPECT_EQ(environment.config_file, "/home/somebody/.aws/config");
  setenv("AWS_REGION", "first", 1);
  setenv("AWS_ENDPOINT_URL_S3", "http://s3", 1);
  setenv("AWS_SHARED_CREDENTIALS_FILE", "/c", 1);
  environment = Environment::OfProcess();
  EXPECT_EQ(environment.region, "first");
  EXPECT_EQ(environment.endpoint, "http://s3");
  EXPECT_EQ(environment.credentials_file, "/c");
}

class FindCredentialsTest : public FindEndpointTest {
 protected:
  FindCredentialsTest() {
    scratch_.Write("credentials", kFile);
    environment_.credentials_file = scratch_.Path("credentials");
  }

  absl::StatusOr<Credentials> Find() {
    return FindCredentials(settings_, environment_);
  }
  absl::Status Refusal(const std::string& profile) {
    settings_.profile = profile;
    return Find().status();
  }
};

TEST_F(FindCredentialsTest, TheFirstThatAreNamedAreTaken) {
  EXPECT_EQ(Find()->keys, (Keys{"AKIA1", "secret/1==", ""}));
  EXPECT_EQ(Find()->name,
            "the profile [default] of " + environment_.credentials_file);
  environment_.profile = "other";
  EXPECT_EQ(Find()->keys, (Keys{"AKIA2", "secret2", "token2"}));
  environment_.key_id = "AKIA9";
  environment_.secret = "s9";
  environment_.token = "t9";
  EXPECT_EQ(Find()->keys, (Keys{"AKIA9", "s9", "t9"}));
  EXPECT_EQ(Find()->name, "the access key AKIA9 of the daemon's environment");
  settings_.profile = "default";
  EXPECT_EQ(Find()->keys->id, "AKIA1");
  settings_.profile = "";
  settings_.credentials = environment_.credentials_file;
  EXPECT_EQ(Find()->keys->id, "AKIA2");
  settings_.credentials = "none";
  EXPECT_FALSE(Find()->keys.has_value());
}

TEST_F(FindCredentialsTest, WithoutAnyNoneAreUsed) {
  environment_.credentials_file = scratch_.Path("missing");
  EXPECT_FALSE(Find()->keys.has_value());
  EXPECT_THAT(Find()->name, HasSubstr("no credentials"));
  scratch_.Write("missing", "[somebody]\n");
  EXPECT_FALSE(Find()->keys.has_value());
  // Files and profiles that are named must be there.
  environment_.profile = "work";
  EXPECT_EQ(Find().status().code(), absl::StatusCode::kNotFound);
  settings_.credentials = scratch_.Path("elsewhere");
  EXPECT_EQ(Find().status().code(), absl::StatusCode::kNotFound);
}

TEST_F(FindCredentialsTest, SaysWhatIsWrongButNoSecret) {
  EXPECT_THAT(std::string(Refusal("half").message()),
              HasSubstr("the profile [half]: lacks aws_access_key_id or "
                        "aws_secret_access_key"));
  EXPECT_THAT(std::string(Refusal("role").message()),
              HasSubstr("has role_arn, which is not followed"));
  EXPECT_THAT(std::string(Refusal("odd").message()), Not(HasSubstr("A KIA")));
  EXPECT_EQ(Refusal("odd").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Refusal("nobody").code(), absl::StatusCode::kNotFound);
  scratch_.Write("credentials", std::string(70'000, '#'));
  EXPECT_EQ(Refusal("default").code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace forebay::storage::s3

#include "server/storage/s3/settings.h"

#include <cstdlib>
#include <string>

#include "server/storage/s3/s3_credentials.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::storage::s3 {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;
using tests::Not;

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

TEST_CASE("An S3 profile is read from its one section of the file",
          "[s3][settings]") {
  const auto found = FindProfile(kFile, "default");
  REQUIRE(found.has_value());
  CHECK(*found == Profile{{"aws_access_key_id", "AKIA1"},
                          {"aws_secret_access_key", "secret/1=="}});
  CHECK(FindProfile(kFile, "other")->at("aws_access_key_id") == "AKIA2");
  CHECK_FALSE(FindProfile(kFile, "nobody").has_value());
  CHECK_FALSE(FindProfile("", "default").has_value());
  CHECK(FindProfile("[default]\nno key\n[x", "default")->empty());
  CHECK(FindProfile("\xef\xbb\xbf[default]\nk = v", "default")
            .value_or(Profile())
            .count("k"));
}

class FindEndpointTest {
 protected:
  absl::StatusOr<Endpoint> Find() {
    return FindEndpoint(settings_, environment_);
  }

  const local::ScratchDir scratch_;
  S3Settings settings_;
  Environment environment_;
};

TEST_CASE_METHOD(FindEndpointTest,
                 "The region of an S3 endpoint is the first that is named",
                 "[s3][settings]") {
  CHECK(Find()->url == "https://s3.us-east-1.amazonaws.com");
  environment_.config_file = scratch_.Path("config");
  CHECK(Find()->region == "us-east-1");
  scratch_.Write("config",
                 "[default]\nregion = eu-west-3\n"
                 "[profile work]\nregion = cn-north-1\n[work]\nregion = x\n");
  CHECK(Find()->region == "eu-west-3");
  environment_.profile = "work";
  CHECK(Find()->url == "https://s3.cn-north-1.amazonaws.com.cn");
  settings_.profile = "other";
  CHECK(Find()->region == "us-east-1");
  environment_.region = "eu-north-1";
  CHECK(Find()->region == "eu-north-1");
  settings_.region = "eu-south-1";
  CHECK(Find()->region == "eu-south-1");
  for (const char* region : {"a.b", "A", "x/y", "a b", ""}) {
    environment_.region = settings_.region = region;
    settings_.profile = *region == '\0' ? "none" : "";
    CAPTURE(region);
    CHECK(Find().ok() == (*region == '\0'));
  }
}

TEST_CASE_METHOD(FindEndpointTest,
                 "The profile names the server of an S3 endpoint",
                 "[s3][settings]") {
  environment_.config_file = scratch_.Path("config");
  scratch_.Write("config",
                 "[default]\nendpoint_url = http://minio:9000/\n"
                 "[profile work]\nservices = here\nendpoint_url = ftp://x\n");
  CHECK(Find()->UrlOf("b") == "http://minio:9000/b");
  CHECK(Find()->region == "us-east-1");
  environment_.endpoint = "http://env";
  CHECK(Find()->url == "http://env");
  environment_.endpoint = "";
  environment_.profile = "work";
  CHECK_THAT(Find(), HasCode(absl::StatusCode::kInvalidArgument));
  settings_.endpoint = "http://configured";
  CHECK(Find()->url == "http://configured");
}

TEST_CASE_METHOD(
    FindEndpointTest,
    "A config file that decides nothing about an S3 endpoint may be unreadable",
    "[s3][settings]") {
  environment_.config_file = scratch_.Path("config");
  scratch_.Write("config", std::string(70'000, '#'));
  environment_.region = "eu-west-1";
  CHECK_THAT(Find(), HasCode(absl::StatusCode::kInvalidArgument));
  environment_.endpoint = "http://env";
  CHECK_THAT(Find(), IsOk());
}

TEST_CASE_METHOD(
    FindEndpointTest,
    "A bucket's name stands in the path or in the host of an S3 URL",
    "[s3][settings]") {
  CHECK(Find()->UrlOf("b") == "https://b.s3.us-east-1.amazonaws.com");
  CHECK(Find()->UrlOf("b.c") == "https://s3.us-east-1.amazonaws.com/b.c");
  settings_.addressing = "path";
  CHECK(Find()->UrlOf("b") == "https://s3.us-east-1.amazonaws.com/b");
  settings_.addressing = "auto";
  environment_.endpoint = "http://localhost:9000/";
  CHECK(Find()->UrlOf("b") == "http://localhost:9000/b");
  settings_.endpoint = "https://minio/s3";
  CHECK(Find()->UrlOf("b") == "https://minio/s3/b");
  settings_.addressing = "virtual";
  CHECK(Find()->UrlOf("b.c") == "https://b.c.minio/s3");
  settings_.endpoint = "ftp://minio";
  CHECK_THAT(Find(), HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_CASE("The S3 environment takes the variable names of Amazon's libraries",
          "[s3][settings]") {
  for (const char* name :
       {"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_S3",
        "AWS_ENDPOINT_URL", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"})
    unsetenv(name);
  setenv("HOME", "/home/somebody", 1);
  setenv("AWS_DEFAULT_REGION", "later", 1);
  setenv("AWS_ENDPOINT_URL", "http://all", 1);
  Environment environment = Environment::OfProcess();
  CHECK(environment.region == "later");
  CHECK(environment.endpoint == "http://all");
  CHECK(environment.credentials_file == "/home/somebody/.aws/credentials");
  CHECK(environment.config_file == "/home/somebody/.aws/config");
  setenv("AWS_REGION", "first", 1);
  setenv("AWS_ENDPOINT_URL_S3", "http://s3", 1);
  setenv("AWS_SHARED_CREDENTIALS_FILE", "/c", 1);
  environment = Environment::OfProcess();
  CHECK(environment.region == "first");
  CHECK(environment.endpoint == "http://s3");
  CHECK(environment.credentials_file == "/c");
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

TEST_CASE_METHOD(FindCredentialsTest,
                 "The first S3 credentials that are named are taken",
                 "[s3][settings]") {
  CHECK(Find()->keys == Keys{"AKIA1", "secret/1==", ""});
  CHECK(Find()->name ==
        "the profile [default] of " + environment_.credentials_file);
  environment_.profile = "other";
  CHECK(Find()->keys == Keys{"AKIA2", "secret2", "token2"});
  environment_.key_id = "AKIA9";
  environment_.secret = "s9";
  environment_.token = "t9";
  CHECK(Find()->keys == Keys{"AKIA9", "s9", "t9"});
  CHECK(Find()->name == "the access key AKIA9 of the daemon's environment");
  settings_.profile = "default";
  CHECK(Find()->keys->id == "AKIA1");
  settings_.profile = "";
  settings_.credentials = environment_.credentials_file;
  CHECK(Find()->keys->id == "AKIA2");
  settings_.credentials = "none";
  CHECK_FALSE(Find()->keys.has_value());
}

TEST_CASE_METHOD(FindCredentialsTest,
                 "The search for S3 credentials uses none where it finds none",
                 "[s3][settings]") {
  environment_.credentials_file = scratch_.Path("missing");
  CHECK_FALSE(Find()->keys.has_value());
  CHECK_THAT(Find()->name, Contains("no credentials"));
  scratch_.Write("missing", "[somebody]\n");
  CHECK_FALSE(Find()->keys.has_value());
  // A file or profile that is named must exist.
  environment_.profile = "work";
  CHECK_THAT(Find(), HasCode(absl::StatusCode::kNotFound));
  settings_.credentials = scratch_.Path("elsewhere");
  CHECK_THAT(Find(), HasCode(absl::StatusCode::kNotFound));
}

TEST_CASE_METHOD(
    FindCredentialsTest,
    "An error about S3 credentials says what is wrong but no secret",
    "[s3][settings]") {
  CHECK_THAT(Refusal("half").message(),
             Contains("the profile [half]: lacks aws_access_key_id or "
                      "aws_secret_access_key"));
  CHECK_THAT(Refusal("role").message(),
             Contains("has role_arn, which is not followed"));
  CHECK_THAT(Refusal("odd").message(), Not(Contains("A KIA")));
  CHECK_THAT(Refusal("odd"), HasCode(absl::StatusCode::kInvalidArgument));
  CHECK_THAT(Refusal("nobody"), HasCode(absl::StatusCode::kNotFound));
  scratch_.Write("credentials", std::string(70'000, '#'));
  CHECK_THAT(Refusal("default"), HasCode(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace forebay::storage::s3

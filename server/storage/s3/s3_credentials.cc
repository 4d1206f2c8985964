#include "server/storage/s3/s3_credentials.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/storage/small_file.h"

namespace forebay::storage::s3 {
namespace {

// Whether the text may become part of a header line of every request.
bool IsPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c > ' ' && c < 127; });
}

// Checks that there are keys and that they can be sent. `place` is for errors.
absl::Status Check(const Keys& keys, const std::string& place) {
  if (keys.id.empty() || keys.secret.empty())
    return absl::InvalidArgumentError(absl::StrCat(
        place, ": lacks aws_access_key_id or aws_secret_access_key"));
  if (!IsPrintable(keys.id) || !IsPrintable(keys.secret) ||
      !IsPrintable(keys.token))
    return absl::InvalidArgumentError(
        absl::StrCat(place, ": its keys have strange characters"));
  return absl::OkStatus();
}

std::string ValueIn(const Profile& profile, const char* key) {
  const auto found = profile.find(key);
  return found == profile.end() ? "" : found->second;
}

// Returns the keys of a profile of a file.
absl::StatusOr<Credentials> OfFile(const std::string& path,
                                   const std::string& profile) {
  FOREBAY_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path));
  const auto found = FindProfile(text, profile);
  if (!found.has_value())
    return absl::NotFoundError(
        absl::StrCat(path, ": has no profile [", profile, "]"));
  const Keys keys = {ValueIn(*found, "aws_access_key_id"),
                     ValueIn(*found, "aws_secret_access_key"),
                     ValueIn(*found, "aws_session_token")};
  for (const char* const key :
       {"role_arn", "credential_process", "sso_session", "sso_account_id"}) {
    if (keys.id.empty() && found->count(key) > 0)
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": the profile [", profile, "] has ", key,
          ", which is not followed: write its keys there, as `aws configure "
          "export-credentials` prints them"));
  }
  FOREBAY_RETURN_IF_ERROR(
      Check(keys, absl::StrCat(path, ": the profile [", profile, "]")));
  return Credentials{keys,
                     absl::StrCat("the profile [", profile, "] of ", path)};
}

}  // namespace

absl::StatusOr<Credentials> FindCredentials(const S3Settings& settings,
                                            const Environment& environment) {
  if (settings.credentials == "none")
    return Credentials{std::nullopt,
                       "no credentials: s3.credentials is \"none\""};
  const bool names_file = settings.credentials != "auto";
  std::string profile = settings.profile;
  if (!names_file && profile.empty() && !environment.key_id.empty()) {
    Keys keys = {environment.key_id, environment.secret, environment.token};
    FOREBAY_RETURN_IF_ERROR(
        Check(keys, "the daemon's environment (AWS_ACCESS_KEY_ID)"));
    std::string name = absl::StrCat("the access key ", keys.id,
                                    " of the daemon's environment");
    return Credentials{std::move(keys), std::move(name)};
  }
  const bool names_profile = !profile.empty() || !environment.profile.empty();
  if (profile.empty()) profile = environment.profile;
  if (profile.empty()) profile = "default";
  const std::string& path =
      names_file ? settings.credentials : environment.credentials_file;
  auto found = OfFile(path, profile);
  if (names_file || names_profile || !absl::IsNotFound(found.status()))
    return found;
  return Credentials{std::nullopt,
                     absl::StrCat("no credentials: the daemon found none in "
                                  "AWS_ACCESS_KEY_ID or in ",
                                  path.empty() ? "~/.aws/credentials" : path)};
}

}  // namespace forebay::storage::s3

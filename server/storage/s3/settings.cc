#include "server/storage/s3/settings.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/storage/http/url.h"
#include "server/storage/small_file.h"

namespace forebay::storage::s3 {
namespace {

constexpr char kDefaultRegion[] = "us-east-1";

// Returns the variable `name`, or `otherwise` if that is empty or not set.
std::string FromEnvironment(const char* name, const char* otherwise = nullptr) {
  const char* value = std::getenv(name);
  if ((value == nullptr || *value == '\0') && otherwise != nullptr)
    value = std::getenv(otherwise);
  return value == nullptr ? "" : value;
}

// Returns the text without blanks around it.
std::string_view Trimmed(std::string_view text) {
  const absl::string_view trimmed =
      absl::StripAsciiWhitespace({text.data(), text.size()});
  return std::string_view(trimmed.data(), trimmed.size());
}

// Whether a region can have that name, which becomes part of a host's name.
bool IsRegion(std::string_view name) {
  return !name.empty() && name.size() <= 63 &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-';
         });
}

// Returns the keys of the profile in the config file, or none if there is no
// such file or profile.
absl::StatusOr<Profile> ReadConfig(const S3Settings& settings,
                                   const Environment& environment) {
  if (environment.config_file.empty()) return Profile();
  const auto text = ReadSmallFile(environment.config_file);
  if (absl::IsNotFound(text.status())) return Profile();
  if (!text.ok()) return text.status();
  const std::string& profile =
      settings.profile.empty() ? environment.profile : settings.profile;
  return FindProfile(*text, profile.empty() || profile == "default"
                                ? "default"
                                : "profile " + profile)
      .value_or(Profile());
}

// Returns the first value that is not empty: the configured one, the
// environment's, the profile's.
std::string FirstOf(const std::string& configured,
                    const std::string& in_environment, const Profile& profile,
                    const std::string& key) {
  if (!configured.empty()) return configured;
  if (!in_environment.empty()) return in_environment;
  const auto found = profile.find(key);
  return found == profile.end() ? "" : found->second;
}

// Returns how URLs name buckets. Only Amazon's server is known to accept a
// bucket in the host's name.
Endpoint::Style StyleOf(const std::string& addressing, bool is_amazons) {
  if (addressing == "path") return Endpoint::Style::kPath;
  if (addressing == "virtual") return Endpoint::Style::kVirtual;
  return is_amazons ? Endpoint::Style::kPathIfDot : Endpoint::Style::kPath;
}

}  // namespace

Environment Environment::OfProcess() {
  Environment environment;
  environment.region = FromEnvironment("AWS_REGION", "AWS_DEFAULT_REGION");
  environment.endpoint =
      FromEnvironment("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL");
  environment.key_id = FromEnvironment("AWS_ACCESS_KEY_ID");
  environment.secret = FromEnvironment("AWS_SECRET_ACCESS_KEY");
  environment.token = FromEnvironment("AWS_SESSION_TOKEN");
  environment.credentials_file = FromEnvironment("AWS_SHARED_CREDENTIALS_FILE");
  environment.config_file = FromEnvironment("AWS_CONFIG_FILE");
  environment.profile = FromEnvironment("AWS_PROFILE");
  const std::string home = FromEnvironment("HOME");
  if (home.empty()) return environment;
  if (environment.credentials_file.empty())
    environment.credentials_file = home + "/.aws/credentials";
  if (environment.config_file.empty())
    environment.config_file = home + "/.aws/config";
  return environment;
}

std::string Endpoint::UrlOf(std::string_view bucket) const {
  const std::string name(bucket);
  if (style == Style::kPath ||
      (style == Style::kPathIfDot && name.find('.') != name.npos))
    return absl::StrCat(url, "/", name);
  const std::size_t host = url.find("://") + 3;
  return absl::StrCat(url.substr(0, host), name, ".", url.substr(host));
}

absl::StatusOr<Endpoint> FindEndpoint(const S3Settings& settings,
                                      const Environment& environment) {
  Profile profile;
  // The file is read only if a setting may come from it. If none may, the file
  // may even be unreadable.
  if ((settings.region + environment.region).empty() ||
      (settings.endpoint + environment.endpoint).empty()) {
    FOREBAY_ASSIGN_OR_RETURN(profile, ReadConfig(settings, environment));
  }
  Endpoint endpoint;
  endpoint.region =
      FirstOf(settings.region, environment.region, profile, "region");
  if (endpoint.region.empty()) endpoint.region = kDefaultRegion;
  if (!IsRegion(endpoint.region))
    return absl::InvalidArgumentError(
        absl::StrCat("no region is called \"", endpoint.region, "\""));
  const std::string named =
      FirstOf(settings.endpoint, environment.endpoint, profile, "endpoint_url");
  endpoint.style = StyleOf(settings.addressing, named.empty());
  if (!named.empty()) {
    FOREBAY_ASSIGN_OR_RETURN(endpoint.url, http::ParseBaseUrl(named));
    return endpoint;
  }
  endpoint.url = absl::StrCat("https://s3.", endpoint.region, ".amazonaws.com",
                              endpoint.region.starts_with("cn-") ? ".cn" : "");
  return endpoint;
}

std::optional<Profile> FindProfile(std::string_view text,
                                   std::string_view section) {
  std::optional<Profile> found;
  bool inside = false;
  // Some editors put a byte order mark of UTF-8 in front.
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  while (!text.empty()) {
    const std::string_view row = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(row.size() + 1, text.size()));
    const std::string_view line = Trimmed(row);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      inside = line.ends_with(']') &&
               Trimmed(line.substr(1, line.size() - 2)) == section;
      if (inside && !found.has_value()) found.emplace();
      continue;
    }
    const std::size_t equals = line.find('=');
    // Indented lines belong to a key that has keys of its own, and are left
    // out.
    if (!inside || equals == line.npos || row.front() == ' ' ||
        row.front() == '\t')
      continue;
    (*found)[std::string(Trimmed(line.substr(0, equals)))] =
        std::string(Trimmed(line.substr(equals + 1)));
  }
  return found;
}

}  // namespace forebay::storage::s3

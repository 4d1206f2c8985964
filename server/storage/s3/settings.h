#ifndef FOREBAY_SERVER_STORAGE_S3_SETTINGS_H_
#define FOREBAY_SERVER_STORAGE_S3_SETTINGS_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace forebay::storage::s3 {

// The settings of S3 in the daemon's configuration.
struct Settings {
  std::string region;                // "": see FindEndpoint
  std::string endpoint;              // "": see FindEndpoint
  std::string addressing = "auto";   // "auto", "path" or "virtual"
  std::string credentials = "auto";  // "auto", "none" or a file
  std::string profile;               // "": see FindKeys
};

// The settings of the daemon's environment, by the names of Amazon's libraries;
// "" if unset.
struct Environment {
  std::string region;            // AWS_REGION, else AWS_DEFAULT_REGION
  std::string endpoint;          // AWS_ENDPOINT_URL_S3, else AWS_ENDPOINT_URL
  std::string key_id;            // AWS_ACCESS_KEY_ID
  std::string secret;            // AWS_SECRET_ACCESS_KEY
  std::string token;             // AWS_SESSION_TOKEN
  std::string credentials_file;  // AWS_SHARED_CREDENTIALS_FILE, else
                                 // HOME/.aws/credentials
  std::string config_file;       // AWS_CONFIG_FILE, else HOME/.aws/config
  std::string profile;           // AWS_PROFILE

  static Environment OfProcess();
};

// Where buckets lie.
struct Endpoint {
  enum class Style {
    kPath,       // https://server/bucket/key
    kVirtual,    // https://bucket.server/key
    kPathIfDot,  // kVirtual, unless the bucket's name has a dot: no certificate
                 // covers that
  };

  std::string url;  // of the server
  std::string region;
  Style style = Style::kPath;

  // Returns the URL that a bucket's objects are named below.
  std::string UrlOf(std::string_view bucket) const;
};

// Returns the endpoint that is configured, else the environment's, else that of
// the profile in the config file (endpoint_url), else Amazon's for the region.
// The region is the configured one, else the environment's, else the profile's,
// else "us-east-1".
// Blocks for file I/O. Errors: INVALID_ARGUMENT (a URL or region that is none),
// and those of the config file unless it is missing.
absl::StatusOr<Endpoint> FindEndpoint(const Settings& settings,
                                      const Environment& environment);

// The keys of one section of a file of Amazon's kind: "[section]", "key =
// value".
using Profile = std::map<std::string, std::string>;

// Returns nullopt if `text` has no such section. Lines that are neither
// sections nor keys are left out.
std::optional<Profile> FindProfile(std::string_view text,
                                   std::string_view section);

}  // namespace forebay::storage::s3

#endif  // FOREBAY_SERVER_STORAGE_S3_SETTINGS_H_

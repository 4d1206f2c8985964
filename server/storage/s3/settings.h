#ifndef FOREBAY_SERVER_STORAGE_S3_SETTINGS_H_
#define FOREBAY_SERVER_STORAGE_S3_SETTINGS_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace forebay::storage::s3 {

// The settings of S3 in the daemon's configuration.
struct S3Settings {
  std::string region;                // "": see FindEndpoint
  std::string endpoint;              // "": see FindEndpoint
  std::string addressing = "auto";   // "auto", "path" or "virtual"
  std::string credentials = "auto";  // "auto", "none" or a file
  std::string profile;               // "": see FindKeys
};

// The settings of the daemon's environment, under the names that Amazon's
// libraries use. A setting is "" if it is not set.
struct Environment {
  // AWS_REGION, or AWS_DEFAULT_REGION if that is not set.
  std::string region;
  // AWS_ENDPOINT_URL_S3, or AWS_ENDPOINT_URL if that is not set.
  std::string endpoint;
  std::string key_id;  // AWS_ACCESS_KEY_ID
  std::string secret;  // AWS_SECRET_ACCESS_KEY
  std::string token;   // AWS_SESSION_TOKEN
  // AWS_SHARED_CREDENTIALS_FILE, or HOME/.aws/credentials if that is not set.
  std::string credentials_file;
  // AWS_CONFIG_FILE, or HOME/.aws/config if that is not set.
  std::string config_file;
  std::string profile;  // AWS_PROFILE

  // Returns the environment of this process.
  static Environment OfProcess();
};

// The server of buckets, and how a bucket's URL is made.
struct Endpoint {
  enum class Style {
    kPath,       // https://server/bucket/key
    kVirtual,    // https://bucket.server/key
    kPathIfDot,  // kVirtual, unless the bucket's name has a dot: no certificate
                 // covers that
  };

  std::string url;  // the URL of the server
  std::string region;
  Style style = Style::kPath;

  // Returns the URL below which a bucket's objects lie.
  std::string UrlOf(std::string_view bucket) const;
};

// Returns the first endpoint that is named, in this order: by the
// configuration, by the environment, by the profile in the config file
// (endpoint_url). If none is named, returns Amazon's endpoint for the region.
// The region is found in the same order, and is "us-east-1" if none is named.
//
// Thread-safe; blocks for file I/O. Errors: INVALID_ARGUMENT (a malformed URL
// or region), and those of the config file unless it is missing.
absl::StatusOr<Endpoint> FindEndpoint(const S3Settings& settings,
                                      const Environment& environment);

// The keys of one section of a file of Amazon's kind: "[section]", "key =
// value".
using Profile = std::map<std::string, std::string>;

// Returns the section's keys, or nullopt if `text` has no such section. Lines
// that are neither sections nor keys are left out.
std::optional<Profile> FindProfile(std::string_view text,
                                   std::string_view section);

}  // namespace forebay::storage::s3

#endif  // FOREBAY_SERVER_STORAGE_S3_SETTINGS_H_

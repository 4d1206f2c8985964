#ifndef FOREBAY_SERVER_STORAGE_GCS_GCS_ROOT_H_
#define FOREBAY_SERVER_STORAGE_GCS_GCS_ROOT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/storage/byte_source.h"

namespace forebay::storage::gcs {

// Where the JSON API is: "https://storage.googleapis.com", or what
// STORAGE_EMULATOR_HOST says, with or without "http://". INVALID_ARGUMENT: it
// says nothing of use.
absl::StatusOr<std::string> EndpointFrom(const char* emulator_host);

// The objects of a bucket whose names begin with a prefix. Thread-safe and
// immutable. Never blocks.
class GcsRoot final : public Root {
 public:
  // "gs://bucket" or "gs://bucket/prefix"; a prefix is a folder: a slash
  // follows it in objects' names. INVALID_ARGUMENT names the URI.
  static absl::StatusOr<std::shared_ptr<const GcsRoot>> Create(
      std::string_view uri, const std::string& endpoint);

  const std::string& uri() const override { return uri_; }
  // Equal for equal places: all are read with the daemon's own credentials.
  std::shared_ptr<const std::string> identity() const override {
    return identity_;
  }
  const std::string& bucket() const { return bucket_; }
  // URLs last.
  std::shared_ptr<const std::string> lasting_identity() const override {
    return identity();
  }
  // What all names of objects below it begin with: "", or up to a slash.
  const std::string& prefix() const { return prefix_; }

  // Of the bytes of one generation of an object. INVALID_ARGUMENT: no object
  // can have that name; only the reason is given.
  absl::StatusOr<std::string> MediaUrl(std::string_view object,
                                       std::int64_t generation) const;
  // Of what the server tells of an object: its size and generation.
  absl::StatusOr<std::string> StatUrl(std::string_view object) const;
  // Of a page of the list of objects below a folder of the root ("", or a name
  // that ends with a slash); "" is the first. `one_level`: of folders right
  // below it only the names.
  std::string ListUrl(std::string_view folder, bool one_level,
                      std::string_view page_token) const;

 private:
  GcsRoot(std::string uri, std::string bucket, std::string bucket_url,
          std::string prefix);

  absl::StatusOr<std::string> ObjectUrl(std::string_view object) const;

  const std::string uri_;
  const std::string bucket_;
  const std::string bucket_url_;
  const std::string prefix_;
  const std::shared_ptr<const std::string> identity_;
};

}  // namespace forebay::storage::gcs

#endif  // FOREBAY_SERVER_STORAGE_GCS_GCS_ROOT_H_

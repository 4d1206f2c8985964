#ifndef FOREBAY_TESTS_UNIT_SERVER_STORAGE_HTTP_REQUEST_TARGET_H_
#define FOREBAY_TESTS_UNIT_SERVER_STORAGE_HTTP_REQUEST_TARGET_H_

#include <map>
#include <string>
#include <string_view>

namespace forebay::storage::http {

// The path and query of a request, unescaped as servers do it.
struct RequestTarget {
  std::string path;
  std::map<std::string, std::string> query;

  bool Has(const std::string& name) const { return query.count(name) != 0; }
  // Returns the field's value, or "" if the field is missing.
  std::string Field(const std::string& name) const {
    return Has(name) ? query.at(name) : "";
  }
};

RequestTarget ParseTarget(std::string_view target);

// Returns the CRC-32C of `content` in Base64, as servers report it.
std::string Crc32cInBase64(std::string_view content);

}  // namespace forebay::storage::http

#endif  // FOREBAY_TESTS_UNIT_SERVER_STORAGE_HTTP_REQUEST_TARGET_H_

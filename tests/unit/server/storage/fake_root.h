#ifndef FOREBAY_TESTS_UNIT_SERVER_STORAGE_FAKE_ROOT_H_
#define FOREBAY_TESTS_UNIT_SERVER_STORAGE_FAKE_ROOT_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/storage/byte_source.h"

namespace forebay::storage {

// A root without files, for tests that need only its name and identities. If
// only a uri is given, it answers as Root does by default. Thread-safe and
// immutable.
class FakeRoot final : public Root {
 public:
  struct Options {
    std::string uri;
    std::optional<std::string> identity = {};
    std::optional<std::string> lasting_identity = {};
    bool still_has = true;  // the answer of StillHas
  };

  static std::shared_ptr<const Root> Make(Options options) {
    return std::make_shared<const FakeRoot>(std::move(options));
  }
  explicit FakeRoot(Options options)
      : uri_(std::move(options.uri)),
        identity_(Shared(std::move(options.identity))),
        lasting_identity_(Shared(std::move(options.lasting_identity))),
        still_has_(options.still_has) {}

  const std::string& uri() const override { return uri_; }
  std::shared_ptr<const std::string> identity() const override {
    return identity_;
  }
  bool StillHas(const std::string&, const ObjectVersion&) const override {
    return still_has_;
  }
  std::shared_ptr<const std::string> lasting_identity() const override {
    return lasting_identity_;
  }

 private:
  static std::shared_ptr<const std::string> Shared(
      std::optional<std::string> text) {
    if (!text.has_value()) return nullptr;
    return std::make_shared<const std::string>(*std::move(text));
  }

  const std::string uri_;
  const std::shared_ptr<const std::string> identity_;
  const std::shared_ptr<const std::string> lasting_identity_;
  const bool still_has_;
};

}  // namespace forebay::storage

#endif  // FOREBAY_TESTS_UNIT_SERVER_STORAGE_FAKE_ROOT_H_

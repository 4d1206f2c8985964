#include "server/dataset/version_digest.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "tests/catch/catch.h"

namespace forebay::dataset {
namespace {

std::string Hex(const Version& version) {
  return absl::BytesToHexString(absl::string_view(
      reinterpret_cast<const char*>(version.data()), version.size()));
}

// libxxhash 0.8.1's XXH3_128bits has computed the expected values.
TEST_CASE("A version digest is the hash of all that was added",
          "[dataset][version_digest]") {
  CHECK(Hex(VersionDigest().Get()) == "99aa06d3014798d86001c324468d497f");
  CHECK(Hex(VersionDigest("subset").Get()) ==
        "1b3a5aa74831a2adb846d64a3327a4c8");
  CHECK(Hex(VersionDigest("subset")
                .Add(std::uint64_t{5})
                .Add(std::string_view("abc"))
                .Get()) == "0f2118a3a48c0df0d4bda85642f13fa0");
}

}  // namespace
}  // namespace forebay::dataset

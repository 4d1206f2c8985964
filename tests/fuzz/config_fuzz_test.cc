// Fuzzes the daemon's configuration file. The file is refused in one sentence
// that contains its name, or gives values within their ranges.

#include <cstdint>
#include <string>
#include <string_view>

#include "server/base/byte_size.h"
#include "server/daemon/config.h"
#include "tests/fuzz/require.h"

namespace {

using forebay::fuzz::Require;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(forebay::base::ParseByteSize(text, UINT64_MAX));
  const auto config = forebay::daemon::ParseConfig(text, "forebayd.toml");
  if (!config.ok()) {
    Require(
        absl::IsInvalidArgument(config.status()) &&
        std::string(config.status().message()).starts_with("forebayd.toml: "));
    return 0;
  }
  Require(config->SerializeAsString().size() <= 2 * size + 1000);
  return 0;
}

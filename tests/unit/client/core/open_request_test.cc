#include "client/core/open_request.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::client::core {
namespace {

using tests::Contains;
using tests::IsOk;

forebay_loader_options Good() {
  forebay_loader_options options = {};
  options.size = sizeof options;
  options.job_key = "job";
  options.uri = "/";
  options.format = FOREBAY_IMAGE_FOLDER;
  options.batch_size = 1;
  options.weight = 1;
  options.order = FOREBAY_SEQUENTIAL;
  options.world_size = 1;
  options.uneven = FOREBAY_WRAP;
  options.on_error = FOREBAY_RAISE;
  options.sharing = FOREBAY_ELASTIC;
  options.device = -1;
  return options;
}

Status Refusal(const forebay_loader_options& options) {
  std::unique_ptr<const OpenRequest> request;
  return OpenRequest::Create(options, nullptr, {}, &request);
}

TEST_CASE("A request to open takes options within their bounds",
          "[core][open_request]") {
  const Status status = Refusal(Good());
  CAPTURE(status.message);
  CHECK_THAT(status, IsOk());
}

// In these fields, 0 asks the daemon for its default, so the client must refuse
// a 0.
TEST_CASE("A request to open names options that are 0 but must not be",
          "[core][open_request]") {
  const std::vector<
      std::pair<const char*, std::function<void(forebay_loader_options*)>>>
      zeros = {{"weight", [](auto* options) { options->weight = 0; }},
               {"order", [](auto* options) { options->order = {}; }},
               {"world_size", [](auto* options) { options->world_size = 0; }},
               {"uneven", [](auto* options) { options->uneven = {}; }},
               {"on_error", [](auto* options) { options->on_error = {}; }},
               {"sharing", [](auto* options) { options->sharing = {}; }}};
  for (const auto& [name, make_zero] : zeros) {
    forebay_loader_options options = Good();
    make_zero(&options);
    const Status status = Refusal(options);
    CAPTURE(name);
    CHECK(status.code == FOREBAY_INVALID_ARGUMENT);
    CHECK_THAT(status.message,
               Contains("the option " + std::string(name) + " is 0"));
  }
}

}  // namespace
}  // namespace forebay::client::core

#include "client/core/open_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace forebay::client::core {
namespace {

using ::testing::HasSubstr;

forebay_loader_options Good() {
  forebay_loader_options options = {};
  options.size = sizeof options;
  options.job_key = "job";
  options.uri = "/";
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
  return OpenRequest::Create(options, nullptr, "", &request);
}

TEST(OpenRequestTest, TakesGoodOptions) {
  const Status status = Refusal(Good());
  EXPECT_TRUE(status.ok()) << status.message;
}

// The daemon takes 0 for its default.
TEST(OpenRequestTest, OptionsThatAreZeroButMustNotBeAreNamed) {
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
    EXPECT_EQ(status.code, FOREBAY_INVALID_ARGUMENT) << name;
    EXPECT_THAT(status.message,
                HasSubstr("the option " + std::string(name) + " is 0"));
  }
}

}  // namespace
}  // namespace forebay::client::core

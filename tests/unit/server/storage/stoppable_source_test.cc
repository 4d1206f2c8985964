#include "server/storage/stoppable_source.h"

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "server/storage/byte_source.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::storage {
namespace {

using tests::ElementsAre;

// A source that completes reads when the test allows it, and counts its calls.
class SlowSource final : public ByteSource {
 public:
  void Read(absl::Span<ReadRequest> requests) override {
    ++calls;
    begun.set_value();
    go_on.get_future().wait();
    for (ReadRequest& request : requests)
      std::exchange(request.done, nullptr)(ReadResult());
  }
  void Share(std::uint64_t, const ReadPurpose&) override { ++calls; }

  std::atomic<int> calls = 0;
  std::promise<void> begun;
  std::promise<void> go_on;
};

ReadRequest RequestFor(std::string object,
                       std::vector<absl::Status>* statuses) {
  ReadRequest request;
  request.object = std::move(object);
  request.done = [statuses](const absl::StatusOr<ReadResult>& result) {
    statuses->push_back(result.status());
  };
  return request;
}

TEST_CASE("A stoppable source calls nothing below it once it was stopped",
          "[storage][stoppable_source]") {
  SlowSource below;
  StoppableSource source(&below);
  source.Stop();
  source.Share(1, {});
  std::vector<absl::Status> statuses;
  ReadRequest request = RequestFor("a.tar", &statuses);
  source.Read({&request, 1});
  CHECK(below.calls == 0);
  CHECK_THAT(
      statuses,
      ElementsAre(absl::CancelledError("a.tar: the daemon is shutting down")));
}

TEST_CASE("The stop of a stoppable source waits for the calls inside it",
          "[storage][stoppable_source]") {
  SlowSource below;
  StoppableSource source(&below);
  std::vector<absl::Status> statuses;
  std::jthread reader([&] {
    ReadRequest request = RequestFor("a", &statuses);
    source.Read({&request, 1});
  });
  below.begun.get_future().wait();
  std::atomic<bool> stopped = false;
  std::jthread stopper([&] {
    source.Stop();
    stopped = true;
  });
  CHECK_FALSE(stopped);
  below.go_on.set_value();
  stopper.join();
  reader.join();
  CHECK_THAT(statuses, ElementsAre(absl::OkStatus()));
}

}  // namespace
}  // namespace forebay::storage

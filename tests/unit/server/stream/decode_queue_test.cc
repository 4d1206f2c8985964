#include "server/stream/decode_queue.h"

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::stream {
namespace {

TEST_CASE(
    "A decode queue wants one task for as many samples as a task can take",
    "[stream][decode_queue]") {
  DecodeQueue queue(1);
  std::vector<PendingSample> samples(9);
  int asked = 0;
  for (PendingSample& pending : samples) {
    queue.Add({.pending = &pending, .bytes = {}, .status = {}});
    asked += queue.WantsTask(4);
  }
  CHECK(asked == 3);
  CHECK(queue.tasks() == 3);
  for (const std::size_t expected : {4, 4, 1}) {
    CHECK(queue.Take(4).size() == expected);
  }
  CHECK(queue.empty());
  CHECK(queue.tasks() == 0);
}

TEST_CASE("A decode task leaves the other threads their part",
          "[stream][decode_queue]") {
  DecodeQueue queue(4);
  std::vector<PendingSample> samples(8);
  for (PendingSample& pending : samples) {
    queue.Add({.pending = &pending, .bytes = {}, .status = {}});
    queue.WantsTask(8);
  }
  CHECK(queue.tasks() == 1);
  CHECK(queue.Take(8).size() == 2);
  UNSCOPED_INFO("the rest waits");
  CHECK(queue.WantsTask(8));
}

TEST_CASE("A sample that was lost before goes alone in its task",
          "[stream][decode_queue]") {
  DecodeQueue queue(1);
  std::vector<PendingSample> samples(5);
  samples[0].deaths = 1;
  samples[3].short_of_memory = 1;
  for (PendingSample& pending : samples)
    queue.Add({.pending = &pending, .bytes = {}, .status = {}});
  for (const std::size_t expected : {1, 2, 1, 1}) {
    CHECK(queue.WantsTask(8));
    CHECK(queue.Take(8).size() == expected);
  }
  CHECK(queue.empty());
}

TEST_CASE("A decode queue takes the first sample that may go",
          "[stream][decode_queue]") {
  DecodeQueue queue(1);
  std::vector<PendingSample> samples(3);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i].id = i;
    queue.Add({.pending = &samples[i], .bytes = {}, .status = {}});
  }
  const auto is_odd = [](const PendingSample& one) { return one.id % 2 == 1; };
  const auto is_far = [](const PendingSample& one) { return one.id > 9; };
  CHECK(queue.NextTaskOf(is_odd) == &samples[1]);
  CHECK(queue.NextTaskOf(is_far) == nullptr);
  CHECK(queue.tasks() == 1);
  std::vector<ReadSample> taken = queue.TakeOne(is_odd);
  REQUIRE(taken.size() == 1);
  CHECK(taken[0].pending == &samples[1]);
  CHECK(queue.Find(is_odd) == nullptr);
  queue.AddAgain(std::move(taken[0]));
  UNSCOPED_INFO("it was lost, and is urgent");
  CHECK(queue.front().pending == &samples[1]);
  CHECK(queue.tasks() == 0);
}

TEST_CASE(
    "A decode queue wants one more task for a sample that comes after the last "
    "task",
    "[stream][decode_queue]") {
  DecodeQueue queue(1);
  PendingSample pending;
  queue.Add({.pending = &pending, .bytes = {}, .status = {}});
  CHECK(queue.WantsTask(1));
  CHECK(queue.Take(1).size() == 1);
  queue.Add({.pending = &pending, .bytes = {}, .status = {}});
  CHECK(queue.WantsTask(1));
  CHECK_FALSE(queue.WantsTask(1));
}

TEST_CASE(
    "Every sample is taken once in order while a decode task is on its way",
    "[stream][decode_queue]") {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    DecodeQueue queue(1 + static_cast<int>(random() % 8));
    std::vector<PendingSample> pending(200);
    std::size_t added = 0;
    std::size_t taken = 0;
    while (taken < pending.size()) {
      const std::size_t task_samples = 1 + random() % 10;
      if (added < pending.size() && random() % 2 == 0) {
        queue.Add({.pending = &pending[added++], .bytes = {}, .status = {}});
        queue.WantsTask(task_samples);
      } else if (queue.tasks() > 0) {
        const auto samples = queue.Take(task_samples);
        REQUIRE(samples.size() <= task_samples);
        for (const ReadSample& sample : samples) {
          REQUIRE(sample.pending == &pending[taken++]);
        }
        queue.WantsTask(task_samples);
      }
      REQUIRE(queue.empty() == (added == taken));
      REQUIRE((queue.empty() || queue.tasks() > 0));
    }
  }
}

}  // namespace
}  // namespace forebay::stream

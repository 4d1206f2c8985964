#ifndef FOREBAY_TESTS_UNIT_SERVER_SAMPLER_ORDER_SIMULATION_H_
#define FOREBAY_TESTS_UNIT_SERVER_SAMPLER_ORDER_SIMULATION_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/sampler/coordinated_order.h"

namespace forebay::sampler {

using SampleList = std::vector<std::uint64_t>;

// Simulates readers in simulated time, each with its own pace. Each reader
// takes one batch at a time. If a sample is not decoded when a reader requests
// it, that reader decodes it. Other readers find the sample once that batch is
// complete.
class Simulation {
 public:
  // Seconds of CPU time: for decoding a sample, and for each sample besides.
  static constexpr double kDecode = 0.6;
  static constexpr double kMake = 0.1;

  struct Pace {
    // Samples per second; 0: as many as its share of the CPU allows.
    double speed = 1;
    double begins = 0;  // seconds
    std::uint64_t batch = 32;
    int epochs = 4;
  };

  Simulation(std::uint64_t size, std::size_t capacity, std::uint64_t seed,
             const std::vector<Pace>& paces)
      : order_(size, capacity, seed) {
    for (const Pace& pace : paces) {
      members_.emplace_back();
      members_.back().pace = pace;
      members_.back().next = pace.begins;
    }
  }

  void Run() {
    while (true) {
      Member* soonest = nullptr;
      for (Member& member : members_) {
        if (member.done == member.pace.epochs) continue;
        if (soonest == nullptr || member.next < soonest->next)
          soonest = &member;
      }
      if (soonest == nullptr) return;
      Step(*soonest);
    }
  }

  double decodes_per_sample() const {
    return static_cast<double>(decodes_) / static_cast<double>(delivered_);
  }
  // Returns each member's orders, one for each epoch.
  std::vector<std::vector<SampleList>> orders() const {
    std::vector<std::vector<SampleList>> orders;
    for (const Member& member : members_) orders.push_back(member.orders);
    return orders;
  }

 private:
  struct Member {
    Pace pace;
    double next = 0;
    int done = 0;
    bool joined = false;
    CoordinatedOrder::Member number = 0;
    SampleList batch;    // samples of the current batch
    SampleList decoded;  // those samples of the batch that it decodes
    std::vector<SampleList> orders;
  };

  void Step(Member& member) {
    if (!member.joined) {
      member.number = order_.Join();
      member.joined = true;
      member.orders.emplace_back();
    }
    Finish(member);
    if (order_.Left(member.number) == 0) {
      EndEpoch(member);
      return;
    }
    while (member.batch.size() < member.pace.batch &&
           order_.Left(member.number) > 0) {
      const std::uint64_t sample = order_.Next(member.number);
      member.orders.back().push_back(sample);
      member.batch.push_back(sample);
      if (!order_.IsDecoded(sample)) member.decoded.push_back(sample);
    }
    decodes_ += member.decoded.size();
    const auto count = static_cast<double>(member.batch.size());
    if (member.pace.speed > 0) {
      member.next += count / member.pace.speed;
      // The batch is complete long before the reader asks for the next one.
      Finish(member);
      return;
    }
    const auto decoded = static_cast<double>(member.decoded.size());
    const auto running = static_cast<double>(std::count_if(
        members_.begin(), members_.end(), [](const Member& other) {
          return other.joined && other.done < other.pace.epochs;
        }));
    member.next += (count * kMake + decoded * kDecode) * running;
  }

  // Completes the member's batch.
  void Finish(Member& member) {
    for (const std::uint64_t sample : member.batch) order_.Done(sample);
    for (const std::uint64_t sample : member.decoded) order_.Put(sample);
    delivered_ += member.batch.size();
    member.batch.clear();
    member.decoded.clear();
  }

  void EndEpoch(Member& member) {
    if (++member.done == member.pace.epochs) {
      order_.Leave(member.number);
    } else {
      order_.StartEpoch(member.number, SampleSet(order_.size()));
      member.orders.emplace_back();
    }
  }

  CoordinatedOrder order_;
  std::vector<Member> members_;
  std::uint64_t decodes_ = 0;
  std::uint64_t delivered_ = 0;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_TESTS_UNIT_SERVER_SAMPLER_ORDER_SIMULATION_H_
